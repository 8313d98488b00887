import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import {
  readsNatively,
  readClassFilesAt,
  readClassFilesIn,
  type PackedFacts,
} from '../../native/classfile.ts'
import { messageOf } from '../../lib/errors/message.ts'
import { factsLayout, openFacts, type Facts } from '../bytecode/facts.ts'
import { portableReader } from '../bytecode/portable/portable-reader.ts'
import { withFile, type ByteSource } from './byte-source.ts'
import {
  displayPath,
  MAX_CLASS_BYTES,
  type ClassContainer,
  type ClassEntry,
  type ClassPathProblem,
} from './class-container.ts'
import { withNestedArchive } from './nested-archive.ts'
import { readExtent } from './read-extent.ts'

/** Problems of one slice that are listed one by one: an archive may have a million entries, none of them a class. */
const MAX_PROBLEMS = 100

export interface ClassSlice {
  /** `classes.input` is the place in the entries that were asked for. */
  readonly facts: Facts
  /** Where it was asked for and the addon has made it; packed. */
  readonly digest: ArrayBuffer | undefined
  /** One for each entry that gave none; of very many the first, and one that counts the others. */
  readonly problems: readonly ClassPathProblem[]
}

/**
 * The facts of some classes of one container, some hundreds in a call. With the addon a thread of libuv reads, inflates and
 * parses; without it the calling thread does.
 *
 * @param digestLayout of the digest that the addon is to make of the facts
 */
export async function readClasses(
  container: ClassContainer,
  entries: readonly ClassEntry[] = container.classes,
  digestLayout?: string,
): Promise<ClassSlice> {
  const isNative = readsNatively({ facts: factsLayout, digest: digestLayout })
  const { buffer, digest, faults } = await (isNative
    ? readNatively(container, entries, digestLayout !== undefined)
    : readPortably(container, entries))
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

function readNatively(
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

/** The twin of what the addon does, on the calling thread. */
export async function readPortably(
  container: ClassContainer,
  entries: readonly ClassEntry[],
): Promise<PackedFacts> {
  const files: Uint8Array[] = []
  const messages = new Map<number, string>()
  const add = (input: number, read: () => Uint8Array) => {
    try {
      files[input] = read()
    } catch (error) {
      messages.set(input, messageOf(error))
      files[input] = Buffer.alloc(0)
    }
  }
  if (container.kind === 'folder')
    for (const [input, { file }] of entries.entries())
      add(input, () => readFileSync(join(container.path, file)))
  else
    withFile(container.path, (file) =>
      insideOf(file, container, (source) => {
        for (const [input, { extent }] of entries.entries())
          add(input, () =>
            extent === undefined ? Buffer.alloc(0) : readExtent(source, extent, MAX_CLASS_BYTES),
          )
      }),
    )
  const { facts, faults } = await portableReader.readSlice(files)
  return {
    buffer: facts.buffer,
    faults: faults.map((fault) => ({ ...fault, message: messages.get(fault.input) ?? fault.message })),
  }
}

function insideOf(
  file: ByteSource,
  { path, deflated }: ClassContainer,
  use: (source: ByteSource) => void,
): void {
  if (deflated === undefined) use(file)
  else withNestedArchive(path, file, deflated, use)
}
