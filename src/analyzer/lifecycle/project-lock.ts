import { setTimeout as delay } from 'node:timers/promises'
import { tryLock } from '../../lib/fs/file-lock.ts'
import { fault } from '../errors.ts'
import { recordFile } from './server-record.ts'

/** Whoever only looks whether a project is held holds it for a moment. */
const ATTEMPTS = 5
const ATTEMPT_MS = 50

/**
 * Holds a project for this server. The kernel lets go with the process, however it ends.
 *
 * @throws PROJECT_IN_USE while another server holds it
 */
export async function lockProject(projectPath: string): Promise<() => Promise<void>> {
  for (let attempt = 1; ; attempt++) {
    // Without the addon and fs-ext nothing keeps a second server away; the first one's record then names the first.
    const held = await tryLock(lockOf(projectPath), () => undefined)
    if (held !== 'taken') return held
    if (attempt === ATTEMPTS) throw fault('PROJECT_IN_USE', `another server runs for ${projectPath}`)
    await delay(ATTEMPT_MS)
  }
}

/** Whether a server holds a project. True where that cannot be known. */
export async function isProjectLocked(projectPath: string): Promise<boolean> {
  let isKnown = true
  const held = await tryLock(lockOf(projectPath), () => (isKnown = false))
  if (held === 'taken') return true
  await held()
  return !isKnown
}

const lockOf = (projectPath: string): string => recordFile(projectPath).replace(/json$/, 'lock')
