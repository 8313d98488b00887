import { open } from 'node:fs/promises'
import { setTimeout as delay } from 'node:timers/promises'
import { flock, type LockKind } from '../../native/files/lock-file.ts'

const LOOK_EVERY_MS = 50

/** Gives up a lock. The file stays: a lock on a file that is removed and made anew is two locks. */
type Release = () => Promise<void>

/**
 * Takes the lock on a file, made where it is missing, or returns `taken` where another process or another part of this
 * one has it. The kernel drops it with the process, however that ends. `unguarded` is called in place of locking where
 * neither the addon nor fs-ext is built, and the work goes on alone.
 */
export async function tryLock(
  path: string,
  unguarded: () => void,
  kind: LockKind = 'alone',
): Promise<Release | 'taken'> {
  const file = await open(path, 'a', 0o600)
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

/** Waits for the lock on a file; `onWait` is called once where another holds it. @throws the signal's reason */
export async function lockFile(
  path: string,
  options: {
    readonly signal?: AbortSignal | undefined
    readonly onWait?: () => void
    readonly unguarded?: () => void
    readonly kind?: LockKind
  } = {},
): Promise<Release> {
  const { signal, onWait, unguarded = () => undefined, kind } = options
  let hasWaited = false
  while (true) {
    signal?.throwIfAborted()
    const release = await tryLock(path, unguarded, kind)
    if (release !== 'taken') return release
    if (!hasWaited) onWait?.()
    hasWaited = true
    await delay(LOOK_EVERY_MS, undefined, signal && { signal }).catch(() => signal?.throwIfAborted())
  }
}
