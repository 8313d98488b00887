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
  readonly mtimeMs: number
  /** Target of a symbolic or hard link; '' for others. */
  readonly linkPath: string
}

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
