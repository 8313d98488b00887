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

/**
 * Maximum number of problems listed for a slice: an archive may have a million entries that are not classes.
 */
const MAX_PROBLEMS = 100

/** Facts of some classes of a container. */
export interface ClassSlice {
  /** `classes.input` is the index in the requested entries. */
  readonly facts: Facts
  /** Packed digest, if requested. */
  readonly digest?: ArrayBuffer | undefined
  /**
   * One for each entry without facts, or without those of an attribute; if there are too many, the first ones and a
   * count of the others.
   */
  readonly problems: readonly ClassPathProblem[]
}

/**
 * Reads the facts of some hundred classes of a container. The addon reads, inflates and parses them on a
 * libuv thread.
 *
 * @param digestLayout layout of the digest that the addon also creates
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
  const { buffer, digest, diagnostics } = await read(container, entries, digestLayout !== undefined)
  const problems = diagnostics.slice(0, MAX_PROBLEMS).map(({ input, offset, message }) => ({
    path: displayPath(container, entries[input]?.file),
    offset,
    message,
  }))
  if (diagnostics.length > MAX_PROBLEMS) {
    const message = `${diagnostics.length - MAX_PROBLEMS} more class files cannot be read`
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
  const names = entries.map(({ name }) => name)
  return readClassFilesIn(container.path, extents, names, container.deflated, withDigest)
}
