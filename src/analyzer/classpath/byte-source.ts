import { closeSync, fstatSync, openSync, readSync } from 'node:fs'

/** Bytes that are read piece by piece, from a file or from memory. */
export interface ByteSource {
  readonly bytes: number
  /** @throws RangeError when the range ends beyond the data, also because a file was truncated */
  read(offset: number, count: number): Buffer
}

/** Returns a source for bytes in memory. */
export function sourceOf(memory: Uint8Array): ByteSource {
  const buffer = Buffer.from(memory.buffer, memory.byteOffset, memory.byteLength)
  return {
    bytes: buffer.length,
    read(offset, count) {
      requireWithin(offset, count, buffer.length)
      return buffer.subarray(offset, offset + count)
    },
  }
}

/** Returns a part of a source as a separate source. */
export function partOf(source: ByteSource, start: number, bytes: number): ByteSource {
  requireWithin(start, bytes, source.bytes)
  return {
    bytes,
    read(offset, count) {
      requireWithin(offset, count, bytes)
      return source.read(start + offset, count)
    },
  }
}

/**
 * Calls `use` with a file's bytes and closes the file afterwards. The file is read, never mapped: truncating
 * a mapped file would kill the process.
 *
 * @throws as node:fs when the file cannot be opened
 */
export function withFile<Result>(path: string, use: (source: ByteSource) => Result): Result {
  const fd = openSync(path, 'r')
  try {
    const bytes = fstatSync(fd).size
    return use({
      bytes,
      read(offset, count) {
        requireWithin(offset, count, bytes)
        const buffer = Buffer.allocUnsafe(count)
        for (let at = 0; at < count;) {
          const got = readSync(fd, buffer, at, count - at, offset + at)
          if (got === 0) throw new RangeError(`the file was truncated from ${bytes} to ${offset + at} bytes`)
          at += got
        }
        return buffer
      },
    })
  } finally {
    closeSync(fd)
  }
}

function requireWithin(offset: number, count: number, end: number): void {
  if (offset < 0 || count < 0 || offset + count > end)
    throw new RangeError(`bytes ${offset} to ${offset + count} are not within 0 to ${end}`)
}
