import { join } from 'node:path'
import {
  type PackedFacts,
  readClassFilesAt,
  readClassFilesIn,
  requireLayouts,
} from '../../native/classfile.ts'
import { factsLayout, openFacts, type Facts } from '../bytecode/facts.ts'
import {
  displayPath,
  type ClassContainer,
  type ClassEntry,
  type ClassPathProblem,
} from './class-container.ts'

/** Problems of one slice that are listed one by one: an archive may have a million entries, none of them a class. */
const MAX_PROBLEMS = 100

export interface ClassSlice {
  /** `classes.input` is the place in the entries that were asked for. */
  readonly facts: Facts
  /** Packed, where it was asked for. */
  readonly digest?: ArrayBuffer | undefined
  /** One for each entry that gave none; of very many the first, and one that counts the others. */
  readonly problems: readonly ClassPathProblem[]
}

/**
 * Reads the facts of some classes of one container, some hundreds in a call. The addon reads, inflates and parses them on a
 * thread of libuv.
 *
 * @param digestLayout of the digest that the addon is to make of the facts
 */
export async function readClasses(
  container: ClassContainer,
  entries: readonly ClassEntry[],
  digestLayout: string,
): Promise<ClassSlice & { readonly digest: ArrayBuffer }>
export async function readClasses(
  container: ClassContainer,
  entries?: readonly ClassEntry[],
): Promise<ClassSlice>
export async function readClasses(
  container: ClassContainer,
  entries: readonly ClassEntry[] = container.classes,
  digestLayout?: string,
): Promise<ClassSlice> {
  requireLayouts({ facts: factsLayout, digest: digestLayout })
  const { buffer, digest, faults } = await read(container, entries, digestLayout !== undefined)
  const problems = faults.slice(0, MAX_PROBLEMS).map(({ input, offset, message }) => ({
    path: displayPath(container, entries[input]?.file),
    offset,
    message,
  }))
  if (faults.length > MAX_PROBLEMS) {
    const message = `${faults.length - MAX_PROBLEMS} more class files beside these cannot be read`
    problems.push({ path: displayPath(container), offset: 0, message })
  }
  return { facts: openFacts(buffer), digest, problems }
}

function read(
  container: ClassContainer,
  entries: readonly ClassEntry[],
  withDigest: boolean,
): Promise<PackedFacts> {
  if (container.kind === 'folder') {
    const files = entries.map(({ file }) => join(container.path, file))
    return readClassFilesAt(files, withDigest)
  }
  const extents = entries.flatMap((entry) => entry.extent ?? [])
  return readClassFilesIn(container.path, extents, container.deflated, withDigest)
}
