import { type Addon, getAddon } from './load.ts'

/** Facts and digest of a slice of class files, from the addon. */
export interface PackedFacts {
  /** Columns described in src/analyzer/bytecode/facts.ts. The caller owns the buffer and may transfer it. */
  readonly buffer: ArrayBuffer
  /** Digest described in src/analyzer/index/digest.ts, if requested. */
  readonly digest?: ArrayBuffer
  /** One for each class file without facts, in the order of the inputs. */
  readonly diagnostics: readonly PackedDiagnostic[]
}

interface PackedDiagnostic {
  /** Index of the input, from 0. */
  readonly input: number
  /** Byte offset in the class file. */
  readonly offset: number
  readonly message: string
}

/** Layouts of facts and digests: "table.column:type …" in order. */
export interface Layouts {
  readonly facts: string
  /** Only if digests are needed. */
  readonly digest?: string | undefined
}

/**
 * Checks that the addon writes the expected columns. @throws Error when the addon is missing or was built
 * from another version
 */
export function requireLayouts({ facts, digest }: Layouts): void {
  const native = addon()
  if (native.factsLayout() === facts && (digest === undefined || native.digestLayout() === digest)) return
  throw new Error('the native addon was built from another version; run "npm run build:native"')
}

/** Location of data inside a file. */
export interface Extent {
  /** Byte offset of its local header, or of its data, in the file (or in the inflated container). */
  readonly offset: number
  /** Size as stored. */
  readonly storedBytes: number
  /** Size when inflated. */
  readonly bytes: number
  /** Zip's compression method: 0 stored, 8 deflated; others are rejected. */
  readonly method: number
  /** Whether a zip local file header precedes the data. */
  readonly hasHeader: boolean
  /** CRC-32 of the inflated bytes; undefined to skip the check. */
  readonly crc: number | undefined
}

/**
 * Reads class files on a libuv thread. Their bytes must not change until it is done. An unreadable class file
 * is a diagnostic, never an error.
 */
export function readClassFiles(files: readonly Uint8Array[]): Promise<PackedFacts> {
  return addon().readClasses(files) as Promise<PackedFacts>
}

/** Reads class files by path, as `readClassFiles`. */
export function readClassFilesAt(paths: readonly string[], withDigest: boolean): Promise<PackedFacts> {
  return addon().readFiles(paths, withDigest) as Promise<PackedFacts>
}

/**
 * Reads class files inside an archive, as `readClassFiles`. They are read by pread, inflated and parsed
 * without passing their bytes to JavaScript. Rejects class files over 16 MiB, and containers that
 * `openNestedArchive` rejects.
 *
 * @param names internal names of the classes, by extent; a class with another name is a diagnostic, because no JVM finds it
 * @param container nested archive that contains the extents, if it is deflated
 */
export function readClassFilesIn(
  path: string,
  extents: readonly Extent[],
  names: readonly string[],
  container: Extent | undefined,
  withDigest: boolean,
): Promise<PackedFacts> {
  const around = numbersOf(container === undefined ? [] : [container])
  return addon().readExtents(path, around, numbersOf(extents), names, withDigest) as Promise<PackedFacts>
}

/** An archive inside a file, inflated in the addon's memory. */
export interface NestedArchive {
  /** Copies bytes. */
  readonly read: (offset: number, count: number) => Buffer
  readonly close: () => void
}

/**
 * Inflates an archive inside a file, once for all threads that need it. Blocks while others hold 256 MiB
 * together; a thread must close one archive before it opens the next.
 *
 * @throws Error when it cannot be inflated, or would exceed that size, or 16 MiB and 100 times its stored
 * size
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
