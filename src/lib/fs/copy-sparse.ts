import { open } from 'node:fs/promises'
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
