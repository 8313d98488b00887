import { lstat, statfs } from 'node:fs/promises'
import { fault } from '../../../errors.ts'

/** Linux and macOS report blocks in units of 512 bytes, regardless of the file system's block size. */
const BLOCK_BYTES = 512
const MIB = 2 ** 20

/** Checks that copies of a file fit next to it. @throws BACKEND_ERROR when they do not */
export async function checkSpace(path: string, copies: number): Promise<void> {
  const needed = (await lstat(path)).blocks * BLOCK_BYTES * copies
  const { bavail, bsize } = await statfs(path)
  if (needed <= bavail * bsize) return
  throw fault(
    'BACKEND_ERROR',
    `${copies} copies of ${path} need ${Math.ceil(needed / MIB)} MiB, and ${Math.floor((bavail * bsize) / MIB)} MiB are free; free some with "workspace system prune", or use a file system that shares blocks`,
  )
}
