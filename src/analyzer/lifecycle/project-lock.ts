import { open } from 'node:fs/promises'
import { setTimeout as delay } from 'node:timers/promises'
import { fault } from '../errors.ts'
import { recordFile } from './server-file.ts'

/** Whoever only looks whether a project is held holds it for a moment. */
const ATTEMPTS = 5
const ATTEMPT_MS = 50

/**
 * Holds a project for this server. The kernel lets go with the process, however it ends. Throws PROJECT_IN_USE while
 * another server holds it.
 */
export async function lockProject(projectPath: string): Promise<() => Promise<void>> {
  for (let attempt = 1; ; attempt++) {
    const held = await hold(projectPath)
    if (held !== undefined) return held
    if (attempt === ATTEMPTS) throw fault('PROJECT_IN_USE', `another server runs for ${projectPath}`)
    await delay(ATTEMPT_MS)
  }
}

/** Whether a server holds a project. True where that cannot be known. */
export async function isProjectHeld(projectPath: string): Promise<boolean> {
  if ((await loadFlock()) === undefined) return true
  const held = await hold(projectPath)
  await held?.()
  return held === undefined
}

/** Undefined while another process holds it. */
async function hold(projectPath: string): Promise<(() => Promise<void>) | undefined> {
  const handle = await open(recordFile(projectPath).replace(/json$/, 'lock'), 'a', 0o600)
  try {
    // Without fs-ext nothing keeps a second server away; the first one's record then names the first.
    const flock = await loadFlock()
    flock?.(handle.fd, 'exnb')
    return () => handle.close()
  } catch {
    await handle.close()
    return undefined
  }
}

function loadFlock() {
  return import('fs-ext').then(
    ({ flockSync }) => flockSync,
    () => undefined,
  )
}
