import { open } from 'node:fs/promises'
import { setTimeout as delay } from 'node:timers/promises'
import { flock, type LockKind } from '../../native/files/lock-file.ts'

const LOOK_EVERY_MS = 50

/** Releases a lock. The file stays: deleting and recreating it would allow two locks. */
type Release = () => Promise<void>

/**
 * Acquires the lock on a file, creating it if needed, or returns `taken` if another process or another part of this
 * process has it. The kernel releases it when the process exits for any reason. If neither the addon nor fs-ext is
 * built, `unguarded` is called and no lock is held.
 */
export async function tryLock(
  path: string,
  unguarded: () => void,
  kind: LockKind = 'alone',
  mode = 0o600,
): Promise<Release | 'taken'> {
  const file = await open(path, 'a', mode)
  const isLocked = await flock(file.fd, kind).catch(async (error: unknown) => {
    await file.close()
    throw error
  })
  if (isLocked === 'unsupported') unguarded()
  else if (!isLocked) {
    await file.close()
    return 'taken'
  }
  return () => file.close()
}

/** Waits for the lock on a file; calls `onWait` once if it is taken. @throws the signal's reason */
export async function lockFile(
  path: string,
  options: {
    readonly signal?: AbortSignal | undefined
    readonly onWait?: () => void
    readonly unguarded?: () => void
    readonly kind?: LockKind
    /** Of a new file, subject to the umask. */
    readonly mode?: number
  } = {},
): Promise<Release> {
  const { signal, onWait, unguarded = () => undefined, kind, mode } = options
  let hasWaited = false
  while (true) {
    signal?.throwIfAborted()
    const release = await tryLock(path, unguarded, kind, mode)
    if (release !== 'taken') return release
    if (!hasWaited) onWait?.()
    hasWaited = true
    await delay(LOOK_EVERY_MS, undefined, signal && { signal }).catch(() => signal?.throwIfAborted())
  }
}
