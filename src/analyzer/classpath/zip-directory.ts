import type { Extent } from '../../native/classfile.ts'
import type { ByteSource } from './byte-source.ts'

/** An entry of a zip file's central directory, which is authoritative: local headers may differ. */
export interface ZipEntry {
  /** Name as written in the archive; a key, never a path to write to. */
  readonly name: string
  readonly extent: Extent
  readonly isEncrypted: boolean
}

// APPNOTE.TXT 4.3; all numbers are little-endian.
const END_SIGNATURE = 0x06054b50
const END_BYTES = 22
const END64_SIGNATURE = 0x06064b50
const END64_BYTES = 56
const LOCATOR64_SIGNATURE = 0x07064b50
const LOCATOR64_BYTES = 20
const ENTRY_SIGNATURE = 0x02014b50
const ENTRY_BYTES = 46
const LOCAL_HEADER_BYTES = 30
const ZIP64_EXTRA = 0x0001
const IN64 = 0xffffffff

const MAX_COMMENT_BYTES = 65535
/**
 * The largest jars in use, bundles of cloud SDKs, have 400,000 entries. With more, the list alone would need
 * more memory than a scan has.
 */
export const MAX_ENTRIES = 2 ** 19
const MAX_DIRECTORY_BYTES = 2 ** 28

/**
 * Reads the entries of a zip file in the order of its central directory, located from its end; bytes before
 * the archive are allowed. Of several entries with one name the last counts, as for a JVM. Reads only the directory.
 *
 * @param leavesOut whether to skip an entry, and those before it with the same name
 * @param onRepeated called for each entry with the name of an earlier one
 * @param most maximum number of entries
 * @throws RangeError or Error when the file is not a valid zip file, or is crafted: overlapping entries, or
 * too many of them
 */
export function readZipDirectory(
  source: ByteSource,
  leavesOut: (name: string, bytes: number) => boolean = () => false,
  most = MAX_ENTRIES,
  onRepeated: (name: string) => void = () => undefined,
): readonly ZipEntry[] {
  const end = findEnd(source)
  if (end.count > most) throw new Error(`it has ${end.count} entries, more than the limit of ${most}`)
  const directory = source.read(end.at, end.directoryBytes)
  const entries = new Map<string, ZipEntry>()
  const starts = new Float64Array(end.count)
  const ends = new Float64Array(end.count)
  let at = 0
  for (let i = 0; i < end.count; i++) {
    if (at + ENTRY_BYTES > directory.length || directory.readUInt32LE(at) !== ENTRY_SIGNATURE)
      throw new Error(`the central directory has no entry ${i} of ${end.count}`)
    const nameBytes = directory.readUInt16LE(at + 28)
    const extraBytes = directory.readUInt16LE(at + 30)
    const next = at + ENTRY_BYTES + nameBytes + extraBytes + directory.readUInt16LE(at + 32)
    if (next > directory.length) throw new Error(`entry ${i} reaches beyond the central directory`)
    const name = directory.toString('utf8', at + ENTRY_BYTES, at + ENTRY_BYTES + nameBytes)
    const extra = directory.subarray(at + ENTRY_BYTES + nameBytes, at + ENTRY_BYTES + nameBytes + extraBytes)
    const sizes = sizesOf(directory, at, extra)
    const offset = end.base + sizes.offset
    starts[i] = offset
    ends[i] = offset + LOCAL_HEADER_BYTES + nameBytes + sizes.storedBytes
    if (entries.delete(name)) onRepeated(name)
    if (!leavesOut(name, sizes.bytes)) {
      const method = directory.readUInt16LE(at + 10)
      const extent = { ...sizes, offset, method, hasHeader: true, crc: directory.readUInt32LE(at + 16) }
      entries.set(name, { name, extent, isEncrypted: (directory.readUInt16LE(at + 8) & 1) !== 0 })
    }
    at = next
  }
  rejectOverlaps(starts, ends, end.at)
  return [...entries.values()]
}

/**
 * Overlapping entries let 10 MB of archive inflate to terabytes: https://www.bamsoftware.com/hacks/zipbomb/
 */
function rejectOverlaps(starts: Float64Array, ends: Float64Array, directoryAt: number): void {
  const order = Uint32Array.from(starts, (_, i) => i).toSorted((a, b) => (starts[a] ?? 0) - (starts[b] ?? 0))
  for (const [place, i] of order.entries()) {
    const next = order[place + 1]
    const limit = next === undefined ? directoryAt : (starts[next] ?? 0)
    if ((ends[i] ?? 0) > limit) throw new Error(`the entry at byte ${starts[i]} overlaps the next one`)
  }
}

function sizesOf(directory: Buffer, at: number, extra: Buffer) {
  let bytes = directory.readUInt32LE(at + 24)
  let storedBytes = directory.readUInt32LE(at + 20)
  let offset = directory.readUInt32LE(at + 42)
  if (bytes === IN64 || storedBytes === IN64 || offset === IN64) {
    const wide = extraField(extra, ZIP64_EXTRA)
    let next = 0
    const next64 = (): number => {
      if (next + 8 > wide.length) throw new Error('an entry lacks its 64-bit sizes')
      next += 8
      return Number(wide.readBigUInt64LE(next - 8))
    }
    if (bytes === IN64) bytes = next64()
    if (storedBytes === IN64) storedBytes = next64()
    if (offset === IN64) offset = next64()
  }
  return { offset, storedBytes, bytes }
}

function extraField(extra: Buffer, wanted: number): Buffer {
  for (let at = 0; at + 4 <= extra.length;) {
    const length = extra.readUInt16LE(at + 2)
    if (extra.readUInt16LE(at) === wanted) return extra.subarray(at + 4, at + 4 + length)
    at += 4 + length
  }
  return Buffer.alloc(0)
}

interface DirectoryEnd {
  readonly count: number
  readonly directoryBytes: number
  /** Offset of the central directory. */
  readonly at: number
  /** Added to offsets in the archive: the number of bytes before it. */
  readonly base: number
}

function findEnd(source: ByteSource): DirectoryEnd {
  const tailBytes = Math.min(source.bytes, END_BYTES + MAX_COMMENT_BYTES)
  const tail = source.read(source.bytes - tailBytes, tailBytes)
  for (let at = tailBytes - END_BYTES; at >= 0; at--) {
    if (tail.readUInt32LE(at) !== END_SIGNATURE || at + END_BYTES + tail.readUInt16LE(at + 20) > tailBytes)
      continue
    const recordAt = source.bytes - tailBytes + at
    const wide = findEnd64(source, recordAt)
    return checked(
      wide ?? {
        count: tail.readUInt16LE(at + 10),
        directoryBytes: tail.readUInt32LE(at + 12),
        written: tail.readUInt32LE(at + 16),
        recordAt,
      },
    )
  }
  throw new Error('it is not a zip file: the end of the central directory is missing')
}

interface RawDirectoryEnd {
  readonly count: number
  readonly directoryBytes: number
  readonly written: number
  readonly recordAt: number
}

function findEnd64(source: ByteSource, recordAt: number): RawDirectoryEnd | undefined {
  const locatorAt = recordAt - LOCATOR64_BYTES
  if (locatorAt < END64_BYTES) return undefined
  if (source.read(locatorAt, LOCATOR64_BYTES).readUInt32LE(0) !== LOCATOR64_SIGNATURE) return undefined
  // Directly before the locator, ignoring the offset in the locator: bytes before the archive would shift it.
  const at = locatorAt - END64_BYTES
  const record = source.read(at, END64_BYTES)
  if (record.readUInt32LE(0) !== END64_SIGNATURE) throw new Error('the zip64 end record is missing')
  return {
    count: Number(record.readBigUInt64LE(32)),
    directoryBytes: Number(record.readBigUInt64LE(40)),
    written: Number(record.readBigUInt64LE(48)),
    recordAt: at,
  }
}

function checked({ count, directoryBytes, written, recordAt }: RawDirectoryEnd): DirectoryEnd {
  if (directoryBytes > MAX_DIRECTORY_BYTES)
    throw new Error(`its central directory has ${directoryBytes} bytes`)
  const at = recordAt - directoryBytes
  const base = at - written
  if (at < 0 || base < 0) throw new Error('its central directory starts before the file')
  return { count, directoryBytes, at, base }
}
