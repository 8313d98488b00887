import { loadAddon } from '../load.ts'

/** `shared`: others may share it, and whoever wants it alone waits. */
export type LockKind = 'alone' | 'shared'

/**
 * Takes the lock on an open file, waiting for nobody; false where another process, or another opening of the file in this
 * one, has it. The kernel drops it when the file is closed. Source: flock(2). Without the addon by fs-ext; `unsupported`
 * where that is not built either.
 *
 * @throws Error with code and syscall
 */
export async function flock(fd: number, kind: LockKind): Promise<boolean | 'unsupported'> {
  const loaded = loadAddon()
  if (loaded.is === 'loaded') return loaded.addon.lockFile(fd, kind === 'shared')
  const byPackage = await import('fs-ext').catch(() => undefined)
  if (byPackage === undefined) return 'unsupported'
  try {
    byPackage.flockSync(fd, kind === 'alone' ? 'exnb' : 'shnb')
    return true
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    if (code === 'EAGAIN' || code === 'EWOULDBLOCK') return false
    throw error
  }
}
