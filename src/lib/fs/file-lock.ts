import { open } from 'node:fs/promises'
import { setTimeout as delay } from 'node:timers/promises'

const LOOK_EVERY_MS = 50

/** Gives up a lock. The file stays: a lock on a file that is removed and made anew is two locks. */
type Release = () => Promise<void>

/** `shared`: others may share it, and whoever wants it alone waits. */
type LockKind = 'alone' | 'shared'

/**
 * Takes the lock on a file, made where it is missing, or returns `taken` where another process or another part of this
 * one has it. The kernel drops it with the process, however that ends. `unguarded` is called in place of locking where
 * fs-ext is not built, and the work goes on alone.
 */
export async function tryLock(
  path: string,
  unguarded: () => void,
  kind: LockKind = 'alone',
): Promise<Release | 'taken'> {
  const file = await open(path, 'a', 0o600)
  const flock = await loadFlock()
  if (flock === undefined) unguarded()
  else {
    try {
      flock(file.fd, kind === 'alone' ? 'exnb' : 'shnb')
    } catch (error) {
      await file.close()
      const { code } = error as NodeJS.ErrnoException
      if (code === 'EAGAIN' || code === 'EWOULDBLOCK') return 'taken'
      throw error
    }
  }
  return () => file.close()
}

/** Waits for the lock on a file; `onWait` is called once where another holds it. Throws the signal's reason. */
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

/** fs-ext is compiled at installation, which fails where there is no compiler. */
async function loadFlock(): Promise<((fd: number, flags: 'exnb' | 'shnb') => void) | undefined> {
  try {
    return (await import('fs-ext')).flockSync
  } catch {
    return undefined
  }
}
