import { contentHash } from '../classpath/content-hash.ts'
import type { StampedHash } from './list-entry.ts'
import { stampIfThere } from '../index/slices.ts'

/**
 * Hashes an archive in a pool process. Returns undefined if it changes meanwhile; listing it reports the
 * problem.
 */
export function hashArchive({ path }: { readonly path: string }): StampedHash | undefined {
  const stamp = stampIfThere(path)
  if (stamp === undefined) return undefined
  try {
    const hash = contentHash(path)
    return stampIfThere(path) === stamp ? { stamp, hash } : undefined
  } catch {
    return undefined
  }
}
