import { stat, statfs } from 'node:fs/promises'
import { dirname, isAbsolute } from 'node:path'
import type { KeepFree } from './request.ts'

/** A file system, and how much space must be freed on it to reach the target. */
export interface FreeSpace {
  readonly device: number
  readonly freeBytes: number
  readonly missingBytes: number
}

/**
 * Returns the free space of the file system of a path, or of its nearest existing parent; undefined for a
 * text that is not a path on this machine.
 */
export async function freeSpaceAt(path: string, keepFree: KeepFree): Promise<FreeSpace | undefined> {
  if (!isAbsolute(path)) return undefined
  try {
    const { dev } = await stat(path)
    const { bavail, bfree, blocks, bsize } = await statfs(path)
    const freeBytes = bavail * bsize
    // Like df(1): blocks reserved for root count neither as free nor as usable.
    const usableBytes = (blocks - bfree + bavail) * bsize
    const wantedBytes = keepFree.is === 'bytes' ? keepFree.bytes : (usableBytes * keepFree.percent) / 100
    return { device: dev, freeBytes, missingBytes: Math.max(0, Math.ceil(wantedBytes - freeBytes)) }
  } catch (error) {
    const above = dirname(path)
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT' || above === path) return undefined
    return freeSpaceAt(above, keepFree)
  }
}
