import { closeSync, constants, fstatSync, openSync, readSync, type Stats } from 'node:fs'

/**
 * Reads a file that somebody else may have put there: never follows a link in the last step, never waits for a FIFO's other
 * end, and never takes in more than `maxBytes`. `check` sees the very file that is read and may throw.
 * @throws an Error for a link, anything but a regular file, and more bytes than that.
 */
export function readUntrusted(path: string, maxBytes: number, check?: (stats: Stats) => void): string {
  const descriptor = open(path)
  try {
    const stats = fstatSync(descriptor)
    if (!stats.isFile()) throw new Error('it is not a regular file')
    if (stats.size > maxBytes) throw new Error(`it has ${stats.size} bytes, more than ${maxBytes}`)
    check?.(stats)
    // One byte more than allowed: files of /proc have no size, and others may grow meanwhile.
    const bytes = Buffer.alloc(maxBytes + 1)
    let length = 0
    for (let count = -1; count !== 0 && length < bytes.length; length += count)
      count = readSync(descriptor, bytes, length, bytes.length - length, null)
    if (length > maxBytes) throw new Error(`it has more than ${maxBytes} bytes`)
    return bytes.toString('utf8', 0, length)
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
