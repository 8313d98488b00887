import { open } from 'node:fs/promises'
import { run } from '../process/run.ts'

/**
 * Copies a file to where none is, onto the disk: holes stay holes, and where the file system can, both share their blocks until
 * one is written to. Rejects with what the system's `cp` says of it, and when `signal` aborts; what is begun is then the
 * caller's to remove.
 */
export async function copySparse(from: string, to: string, signal: AbortSignal): Promise<void> {
  const ways = process.platform === 'darwin' ? ['-c'] : ['--reflink=auto', '--sparse=always']
  const { status, stderr } = await run('cp', [...ways, '--', from, to], { signal })
  if (status !== 0) throw new Error(stderr.trim() || `cp ended with ${status}`)
  const copy = await open(to, 'r')
  try {
    await copy.sync()
  } finally {
    await copy.close()
  }
}
