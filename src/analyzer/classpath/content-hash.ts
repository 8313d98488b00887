import { createHash } from 'node:crypto'
import { withFile } from './byte-source.ts'

const PIECE_BYTES = 2 ** 20

/**
 * Returns the SHA-256 of a file in hex, the key of an archive's facts for all projects. A hash over the CRCs
 * of its directory would not do: a crafted archive could share it with another. Reads the whole file on the
 * calling thread.
 *
 * @throws as node:fs, or RangeError when the file is truncated meanwhile
 */
export function contentHash(path: string): string {
  return withFile(path, (source) => {
    const hash = createHash('sha256')
    for (let at = 0; at < source.bytes; at += PIECE_BYTES)
      hash.update(source.read(at, Math.min(PIECE_BYTES, source.bytes - at)))
    return hash.digest('hex')
  })
}
