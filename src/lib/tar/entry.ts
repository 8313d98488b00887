/**
 * The content of a sparse file is that of its extents, one after the other. A map in its header, and in blocks behind
 * that, has their positions. Source: GNU tar manual, "Old GNU Format".
 */
export interface SparseLayout {
  /** Size of the file with its holes, in bytes. */
  readonly fileBytes: number
  /** Ascending, without overlaps. */
  readonly extents: readonly Extent[]
}

/** A part of a file, in bytes. */
export interface Extent {
  readonly offset: number
  readonly length: number
}

/**
 * A file in a tar archive. Names are byte strings (`latin1`), because file systems accept any bytes but NUL and
 * the slash.
 */
export interface TarEntry {
  readonly path: string
  /** `other`: devices, FIFOs and types that this reader does not know. */
  readonly type: 'file' | 'directory' | 'link' | 'hardlink' | 'other'
  /** Permission bits, with setuid, setgid and sticky. */
  readonly mode: number
  /** Bytes of content that follow. */
  readonly size: number
  /** Where the content belongs in a sparse file; undefined for others. */
  readonly layout?: SparseLayout | undefined
  readonly mtimeMs: number
  /** Target of a symbolic or hard link; '' for others. */
  readonly linkPath: string
}

/** Largest number in eleven octal digits. */
const MAX_OCTAL = 8 ** 11 - 1
/** Everything in an archive is padded to blocks of this size. */
export const BLOCK_BYTES = 512

/** Fields of a header block: offset and length. Source: GNU tar manual, "Basic Tar Format". */
export const FIELDS = {
  name: [0, 100],
  mode: [100, 8],
  uid: [108, 8],
  gid: [116, 8],
  size: [124, 12],
  mtime: [136, 12],
  checksum: [148, 8],
  type: [156, 1],
  linkName: [157, 100],
  magic: [257, 8],
  prefix: [345, 155],
} as const

/** Returns the sum of a header's bytes, in which the checksum itself counts as blanks. */
export function checksumOf(header: Uint8Array): number {
  const [from, length] = FIELDS.checksum
  let sum = 0
  for (const [at, byte] of header.entries()) sum += at >= from && at < from + length ? 0x20 : byte
  return sum
}

/** Returns the number of bytes that pad content to whole blocks. */
export function paddingOf(size: number): number {
  return (BLOCK_BYTES - (size % BLOCK_BYTES)) % BLOCK_BYTES
}

/** Reads a number: octal digits, or base 256 if the highest bit is set. */
export function numberOf(header: Buffer, [at, length]: readonly [number, number], what: string): number {
  if ((header[at] ?? 0) >= 0x80) {
    let value = (header[at] ?? 0) & 0x7f
    for (const byte of header.subarray(at + 1, at + length)) value = value * 256 + byte
    if (Number.isSafeInteger(value)) return value
  } else {
    const digits = header
      .toString('latin1', at, at + length)
      .replace(/[\0 ]+$/, '')
      .trimStart()
    if (/^[0-7]*$/.test(digits)) return digits === '' ? 0 : Number.parseInt(digits, 8)
  }
  throw new Error(`the archive is damaged: a header has an invalid ${what}`)
}

/** Encodes a number as octal digits. */
export function octal(value: number, digits: number): string {
  return value.toString(8).padStart(digits, '0')
}

/** Writes a number as octal digits, or in base 256 with the highest bit set if it has too many. */
export function writeNumber(block: Buffer, [at, length]: readonly [number, number], value: number): void {
  if (value <= MAX_OCTAL) block.write(octal(value, length - 1), at, 'latin1')
  else {
    block[at] = 0x80
    block.writeBigUInt64BE(BigInt(value), at + length - 8)
  }
}
