import { type Addon, getAddon } from './load.ts'

/** What the addon answers for a slice of class files. */
export interface PackedFacts {
  /** The columns, as src/analyzer/bytecode/facts.ts describes them. The caller's own: it may be transferred. */
  readonly buffer: ArrayBuffer
  /** Where it was asked for: as src/analyzer/index/digest.ts describes it. */
  readonly digest?: ArrayBuffer
  /** One for each class file that gave no facts, in the order of the inputs. */
  readonly faults: readonly PackedFault[]
}

interface PackedFault {
  /** Which of the inputs, from 0. */
  readonly input: number
  /** In bytes from the start of the class file. */
  readonly offset: number
  readonly message: string
}

/** Columns of facts and of digests: "table.column:type …" in order. */
export interface Layouts {
  readonly facts: string
  /** Where digests are wanted. */
  readonly digest?: string | undefined
}

/** @throws Error when the addon is missing, or was built from other sources and writes other columns */
export function requireLayouts({ facts, digest }: Layouts): void {
  const native = addon()
  if (native.factsLayout() === facts && (digest === undefined || native.digestLayout() === digest)) return
  throw new Error('the native addon was built from another version: run "npm run build:native"')
}

/** Where the bytes of something inside a file are. */
export interface Extent {
  /** In bytes from the start of the file (or of what the container inflates to): of its local header, or of its bytes. */
  readonly offset: number
  /** As they stand there. */
  readonly storedBytes: number
  /** Once inflated. */
  readonly bytes: number
  /** Zip's compression method: 0 stored, 8 deflated; others are refused. */
  readonly method: number
  /** Whether a zip local file header stands before the bytes. */
  readonly hasHeader: boolean
  /** CRC-32 of the inflated bytes, which is then checked. */
  readonly crc: number | undefined
}

/**
 * Reads class files on a thread of libuv. Their bytes must not change until it is done. A class file that cannot be read is
 * a fault, never an error.
 */
export function readClassFiles(files: readonly Uint8Array[]): Promise<PackedFacts> {
  return addon().readClasses(files) as Promise<PackedFacts>
}

/** As `readClassFiles`, of files by their paths. */
export function readClassFilesAt(paths: readonly string[], withDigest: boolean): Promise<PackedFacts> {
  return addon().readFiles(paths, withDigest) as Promise<PackedFacts>
}

/**
 * As `readClassFiles`, of class files inside an archive: read by pread, inflated and parsed without their bytes coming here. One
 * larger than 16 MiB is refused, as is a container that `openNestedArchive` refuses.
 *
 * @param container the archive inside the file in which the extents are, where it is deflated
 */
export function readClassFilesIn(
  path: string,
  extents: readonly Extent[],
  container: Extent | undefined,
  withDigest: boolean,
): Promise<PackedFacts> {
  const around = numbersOf(container === undefined ? [] : [container])
  return addon().readExtents(path, around, numbersOf(extents), withDigest) as Promise<PackedFacts>
}

/** An archive inside a file, inflated in memory of the addon's. */
export interface NestedArchive {
  /** Copies bytes out of it. */
  readonly read: (offset: number, count: number) => Buffer
  readonly close: () => void
}

/**
 * Inflates an archive inside a file, once for all threads that need it. The calling thread waits while others together hold 256 MiB; it must close one before it opens the
 * next.
 *
 * @throws Error with a sentence when it cannot be inflated, or would be larger than that, or than 16 MiB and 100 times its size
 */
export function openNestedArchive(path: string, extent: Extent): NestedArchive {
  const native = addon()
  const archive = native.openNestedArchive(path, numbersOf([extent]))
  return {
    read: (offset, count) => native.readNestedArchive(archive, offset, count),
    close: () => native.closeNestedArchive(archive),
  }
}

function numbersOf(extents: readonly Extent[]): Float64Array {
  return Float64Array.from(
    extents.flatMap((each) => [
      each.offset,
      each.storedBytes,
      each.bytes,
      each.method,
      Number(each.hasHeader),
      each.crc ?? -1,
    ]),
  )
}

function addon(): Addon {
  return getAddon('reading class files')
}
