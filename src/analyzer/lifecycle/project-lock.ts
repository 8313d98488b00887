import { setTimeout as delay } from 'node:timers/promises'
import { tryLock } from '../../lib/fs/file-lock.ts'
import { fault } from '../errors.ts'
import { recordFile } from './server-record.ts'

/** A process that only checks the lock holds it for a moment. */
const ATTEMPTS = 5
const ATTEMPT_MS = 50

/**
 * Locks a project for this server. The kernel releases the lock when the process exits for any reason.
 *
 * @throws PROJECT_IN_USE while another server holds the lock
 */
export async function lockProject(projectPath: string): Promise<() => Promise<void>> {
  for (let attempt = 1; ; attempt++) {
    // Without the addon and fs-ext, nothing prevents a second server; the record then names the first one.
    const release = await tryLock(lockOf(projectPath), () => undefined)
    if (release !== 'taken') return release
    if (attempt === ATTEMPTS) throw fault('PROJECT_IN_USE', `another server is running for ${projectPath}`)
    await delay(ATTEMPT_MS)
  }
}

/** Whether a server holds the lock of a project. True if that is unknown. */
export async function isProjectLocked(projectPath: string): Promise<boolean> {
  let isKnown = true
  const release = await tryLock(lockOf(projectPath), () => (isKnown = false))
  if (release === 'taken') return true
  await release()
  return !isKnown
}

const lockOf = (projectPath: string): string => recordFile(projectPath).replace(/json$/, 'lock')
