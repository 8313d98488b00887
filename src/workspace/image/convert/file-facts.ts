import { createHash } from 'node:crypto'
import { closeSync, fstatSync, lstatSync, openSync, readdirSync, readlinkSync, readSync } from 'node:fs'
import { join } from 'node:path'
import type { FileFacts } from '../manifest.ts'

const CHUNK_BYTES = 2 ** 22

/** Returns the size and digest of a file. Synchronous: for worker threads. */
export function fileFacts(path: string): FileFacts {
  const hash = createHash('sha256')
  const file = openSync(path, 'r')
  let bytes = 0
  try {
    // Most files are small: allocating a whole chunk would cost more than hashing them.
    const buffer = Buffer.allocUnsafe(Math.min(CHUNK_BYTES, fstatSync(file).size + 1))
    while (true) {
      const read = readSync(file, buffer, 0, buffer.length, null)
      if (read === 0) return { digest: `sha256:${hash.digest('hex')}`, bytes }
      hash.update(buffer.subarray(0, read))
      bytes += read
    }
  } finally {
    closeSync(file)
  }
}

/**
 * Returns one digest over the names, kinds, executable bits and contents of a directory, except the entries
 * in `leftOut`. Synchronous: for worker threads.
 */
export function directoryDigest(path: string, leftOut: readonly string[] = []): string {
  const hash = createHash('sha256')
  const walk = (directory: string, name: string): void => {
    for (const entry of readdirSync(directory).toSorted()) {
      if (name === '' && leftOut.includes(entry)) continue
      const below = join(directory, entry)
      const found = lstatSync(below)
      const kind = found.isDirectory()
        ? 'directory'
        : found.isSymbolicLink()
          ? readlinkSync(below)
          : found.isFile()
            ? fileFacts(below).digest
            : 'other'
      hash.update(JSON.stringify([name, entry, found.mode & 0o111, kind]))
      if (found.isDirectory()) walk(below, `${name}/${entry}`)
    }
  }
  walk(path, '')
  return `sha256:${hash.digest('hex')}`
}
