import { open } from 'node:fs/promises'
import { fault } from '../errors.ts'
import { recordFile } from './server-file.ts'

/**
 * Holds a project for this server. The kernel lets go with the process, however it ends. Throws PROJECT_IN_USE while
 * another server holds it.
 */
export async function lockProject(projectPath: string): Promise<() => Promise<void>> {
  const handle = await open(recordFile(projectPath).replace(/json$/, 'lock'), 'a', 0o600)
  const flock = await import('fs-ext').then(
    ({ flockSync }) => flockSync,
    () => undefined,
  )
  try {
    // Without fs-ext nothing keeps a second server away; the first one's record then names the first.
    flock?.(handle.fd, 'exnb')
  } catch (error) {
    await handle.close()
    throw fault('PROJECT_IN_USE', `another server runs for ${projectPath}`, error)
  }
  return () => handle.close()
}
