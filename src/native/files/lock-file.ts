import { loadAddon } from '../load.ts'

/** A `shared` lock can be held by several, and excludes one that is `alone`. */
export type LockKind = 'alone' | 'shared'

/**
 * Locks an open file without waiting. Returns false if another process, or another descriptor of this one,
 * holds the lock. The kernel releases it when the file is closed. Source: flock(2). Without the addon it uses
 * fs-ext; `unsupported` if that is not built either.
 *
 * @throws Error with code and syscall
 */
export async function flock(fd: number, kind: LockKind): Promise<boolean | 'unsupported'> {
  const loaded = loadAddon()
  if (loaded.is === 'loaded') return loaded.addon.lockFile(fd, kind === 'shared')
  let byPackage: typeof import('fs-ext')
  try {
    byPackage = await import('fs-ext')
  } catch {
    return 'unsupported'
  }
  try {
    byPackage.flockSync(fd, kind === 'alone' ? 'exnb' : 'shnb')
    return true
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    if (code === 'EAGAIN' || code === 'EWOULDBLOCK') return false
    throw error
  }
}
