import { closeSync, constants, fstatSync, openSync, readSync, type Stats } from 'node:fs'

/** Chunk size for files without a size, as in /proc. */
const CHUNK_BYTES = 64 * 1024

/**
 * Reads an untrusted file: never follows a link in the last component, never blocks on a FIFO, and never reads more than
 * `maxBytes`. `check` gets the metadata of the opened file and may throw.
 * @throws Error for a link, a file that is not regular, or a file over the limit
 */
export function readUntrusted(path: string, maxBytes: number, check?: (stats: Stats) => void): string {
  return readUntrustedBytes(path, maxBytes, check).toString('utf8')
}

/** Like `readUntrusted`, but returns bytes. Allocates no more memory than the file's size. */
export function readUntrustedBytes(path: string, maxBytes: number, check?: (stats: Stats) => void): Buffer {
  const descriptor = open(path)
  try {
    const stats = fstatSync(descriptor)
    if (!stats.isFile()) throw new Error('it is not a regular file')
    if (stats.size > maxBytes) throw new Error(`it has ${stats.size} bytes, more than ${maxBytes}`)
    check?.(stats)
    // One extra byte detects a file that grows meanwhile.
    let bytes = Buffer.allocUnsafe(stats.size === 0 ? CHUNK_BYTES : stats.size + 1)
    let length = 0
    while (true) {
      const count = readSync(descriptor, bytes, length, bytes.length - length, null)
      if (count === 0) return bytes.subarray(0, length)
      length += count
      if (length > maxBytes) throw new Error(`it has more than ${maxBytes} bytes`)
      if (length === bytes.length) bytes = Buffer.concat([bytes, Buffer.allocUnsafe(length)])
    }
  } finally {
    closeSync(descriptor)
  }
}

function open(path: string): number {
  try {
    return openSync(path, constants.O_RDONLY | constants.O_NONBLOCK | constants.O_NOFOLLOW)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ELOOP') throw error
    throw new Error('it is a symbolic link', { cause: error })
  }
}
