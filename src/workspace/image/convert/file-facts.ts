import { createHash } from 'node:crypto'
import { closeSync, lstatSync, openSync, readdirSync, readlinkSync, readSync } from 'node:fs'
import { join } from 'node:path'
import type { FileFacts } from '../manifest.ts'

const CHUNK_BYTES = 2 ** 22

/** Size and digest of a file. Synchronous: for worker threads. */
export function fileFacts(path: string): FileFacts {
  const hash = createHash('sha256')
  const buffer = Buffer.alloc(CHUNK_BYTES)
  const file = openSync(path, 'r')
  let bytes = 0
  try {
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

/** One digest for everything in a directory: names, kinds, who may run it, content. Synchronous: for worker threads. */
export function directoryDigest(path: string): string {
  const hash = createHash('sha256')
  const walk = (directory: string, name: string): void => {
    for (const entry of readdirSync(directory).toSorted()) {
      const below = join(directory, entry)
      const found = lstatSync(below)
      const kind = found.isDirectory()
        ? 'directory'
        : found.isSymbolicLink()
          ? readlinkSync(below)
          : fileFacts(below).digest
      hash.update(JSON.stringify([name, entry, found.mode & 0o111, kind]))
      if (found.isDirectory()) walk(below, `${name}/${entry}`)
    }
  }
  walk(path, '')
  return `sha256:${hash.digest('hex')}`
}
