import { hashArchive } from '../src/analyzer/scan/hash-archive.ts'
import type { StampedHash } from '../src/analyzer/scan/list-entry.ts'

/** Hashes one archive; see hashArchive. */
export default function analyzerHash(task: { readonly path: string }): StampedHash | undefined {
  return hashArchive(task)
}
