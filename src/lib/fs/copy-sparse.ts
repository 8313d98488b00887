import { constants } from 'node:fs'
import { copyFile, open } from 'node:fs/promises'
import { run } from '../process/run.ts'

/**
 * Copies a file to a new path and flushes it. Holes are preserved, and blocks are shared where the file system supports it. Rejects
 * with the error output of `cp`, and when `signal` aborts; the caller then removes the partial copy.
 */
export async function copySparse(from: string, to: string, signal: AbortSignal): Promise<void> {
  const ways = process.platform === 'darwin' ? ['-c'] : ['--reflink=auto', '--sparse=always']
  const { status, stderr } = await run('cp', [...ways, '--', from, to], { signal })
  if (status !== 0) throw new Error(stderr.trim() || `cp exited with ${status}`)
  const copy = await open(to, 'r')
  try {
    await copy.sync()
  } finally {
    await copy.close()
  }
}

/**
 * Copies a file to a new path by sharing its blocks, which takes no time and no space. Returns false, with nothing created,
 * where the file system cannot. The copy is not flushed. Source: ioctl_ficlonerange(2).
 */
export async function cloneFile(from: string, to: string): Promise<boolean> {
  try {
    await copyFile(from, to, constants.COPYFILE_EXCL | constants.COPYFILE_FICLONE_FORCE)
    return true
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    if (code !== undefined && CANNOT_CLONE.has(code)) return false
    throw error
  }
}

/** Errors of file systems that cannot share blocks, at all or between two places. */
const CANNOT_CLONE: ReadonlySet<string> = new Set([
  'ENOTSUP',
  'EOPNOTSUPP',
  'ENOSYS',
  'ENOTTY',
  'EXDEV',
  'EINVAL',
])
