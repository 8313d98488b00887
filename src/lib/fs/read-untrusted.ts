import { closeSync, constants, fstatSync, openSync, readSync, type Stats } from 'node:fs'

/** Read at once where a file has no size, as those of /proc. */
const CHUNK_BYTES = 64 * 1024

/**
 * Reads a file that somebody else may have put there: never follows a link in the last step, never waits for a FIFO's other
 * end, and never takes in more than `maxBytes`. `check` sees the very file that is read and may throw.
 * @throws an Error for a link, anything but a regular file, and more bytes than that.
 */
export function readUntrusted(path: string, maxBytes: number, check?: (stats: Stats) => void): string {
  return readUntrustedBytes(path, maxBytes, check).toString('utf8')
}

/** The bytes of such a file; see `readUntrusted`. Uses no more memory than the file has bytes. */
export function readUntrustedBytes(path: string, maxBytes: number, check?: (stats: Stats) => void): Buffer {
  const descriptor = open(path)
  try {
    const stats = fstatSync(descriptor)
    if (!stats.isFile()) throw new Error('it is not a regular file')
    if (stats.size > maxBytes) throw new Error(`it has ${stats.size} bytes, more than ${maxBytes}`)
    check?.(stats)
    // One byte more than expected: the file may grow meanwhile.
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
