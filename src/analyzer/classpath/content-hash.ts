import { createHash } from 'node:crypto'
import { withFile } from './byte-source.ts'

const PIECE_BYTES = 2 ** 20

/**
 * The SHA-256 of a file, in hex: what an archive's facts are kept under for all projects. Not a hash over the CRCs of its
 * directory, which an archive made for it could share with another. Reads the whole file on the calling thread.
 *
 * @throws as node:fs, or RangeError when the file becomes shorter meanwhile
 */
export function contentHash(path: string): string {
  return withFile(path, (source) => {
    const hash = createHash('sha256')
    for (let at = 0; at < source.bytes; at += PIECE_BYTES)
      hash.update(source.read(at, Math.min(PIECE_BYTES, source.bytes - at)))
    return hash.digest('hex')
  })
}
