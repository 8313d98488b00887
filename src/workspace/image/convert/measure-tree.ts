import { lstatSync, lutimesSync, readdirSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { fault } from '../../errors.ts'

const BLOCK_BYTES = 4096
const MAX_BYTES = 2 ** 38

/** What a file system for a tree needs. */
export interface TreeMeasure {
  readonly inodes: number
  readonly bytes: number
}

/**
 * Counts an unpacked image, and readies it to be made into a file system whose bytes depend on nothing but it: device nodes
 * go, which a VM's kernel makes itself, and what was changed since `startMs` gets the time 0 of all images. Synchronous:
 * for worker threads. Throws BACKEND_ERROR for a tree over 256 GiB.
 */
export function measureTree(tree: string, startMs: number): TreeMeasure {
  const seen = new Set<number>()
  let bytes = 0
  let inodes = 0
  const settle = (path: string, mtimeMs: number): void => {
    if (mtimeMs >= startMs) lutimesSync(path, EPOCH_SECONDS, EPOCH_SECONDS)
  }
  const walk = (directory: string): void => {
    let entryBytes = 0
    for (const name of readdirSync(directory)) {
      const path = join(directory, name)
      const found = lstatSync(path)
      if (found.isBlockDevice() || found.isCharacterDevice()) {
        rmSync(path)
        continue
      }
      entryBytes += 12 + Buffer.byteLength(name)
      if (found.isDirectory()) walk(path)
      else if (found.nlink === 1 || !seen.has(found.ino)) {
        inodes++
        // A link's target up to 59 bytes is in its inode.
        bytes += found.isFile() || found.size > 59 ? blocks(found.size) : 0
        settle(path, found.mtimeMs)
      }
      if (found.nlink > 1) seen.add(found.ino)
    }
    inodes++
    bytes += blocks(entryBytes) + BLOCK_BYTES
    // After what is in it, whose removal changes it.
    settle(directory, lstatSync(directory).mtimeMs)
  }
  walk(tree)
  if (bytes > MAX_BYTES)
    throw fault('BACKEND_ERROR', `the image unpacks to ${bytes} bytes, and ${MAX_BYTES} are the most`)
  return { inodes, bytes }
}

/** The time of what conversion itself makes: 2020-01-01, which no program takes for "never". */
export const EPOCH_SECONDS = 1_577_836_800

function blocks(bytes: number): number {
  return Math.ceil(bytes / BLOCK_BYTES) * BLOCK_BYTES
}
