import { stat, statfs } from 'node:fs/promises'
import { dirname, isAbsolute } from 'node:path'
import type { KeepFree } from './request.ts'

/** A file system, and how much of it is missing from what is to be free. */
export interface FreeSpace {
  readonly device: number
  readonly freeBytes: number
  readonly missingBytes: number
}

/** That on which a path is, or the nearest directory above it that there is; undefined for what is no path of this machine. */
export async function freeSpaceAt(path: string, keepFree: KeepFree): Promise<FreeSpace | undefined> {
  if (!isAbsolute(path)) return undefined
  try {
    const { dev } = await stat(path)
    const { bavail, bfree, blocks, bsize } = await statfs(path)
    const freeBytes = bavail * bsize
    // What root alone may fill counts neither as free nor as there, as with df(1).
    const usableBytes = (blocks - bfree + bavail) * bsize
    const wantedBytes = keepFree.is === 'bytes' ? keepFree.bytes : (usableBytes * keepFree.percent) / 100
    return { device: dev, freeBytes, missingBytes: Math.max(0, Math.ceil(wantedBytes - freeBytes)) }
  } catch (error) {
    const above = dirname(path)
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT' || above === path) return undefined
    return freeSpaceAt(above, keepFree)
  }
}
