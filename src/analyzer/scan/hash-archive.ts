import { contentHash } from '../classpath/content-hash.ts'
import type { StampedHash } from './list-entry.ts'
import { stampIfThere } from '../index/slices.ts'

/** Hashes one archive, in a pool's process. Undefined where it changes meanwhile; listing it then tells what is wrong. */
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
