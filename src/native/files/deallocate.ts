import { finish } from '../in-background.ts'
import { loadAddon } from '../load.ts'

/** A stretch of a file, in bytes. */
export interface Stretch {
  readonly offset: number
  readonly bytes: number
}

/**
 * Makes stretches of an opened file holes: they read as zeros and take nothing, the file's size stays. False where neither the
 * file system nor this machine can; what was done until then stays done.
 *
 * @throws Error with code, errno and syscall
 */
export function punchHoles(
  fd: number,
  stretches: readonly Stretch[],
  signal?: AbortSignal,
): Promise<boolean> {
  const numbers = Float64Array.from(stretches.flatMap(({ offset, bytes }) => [offset, bytes]))
  return whereSupported((addon) => finish(addon.punchHoles(fd, numbers), { signal }))
}

/**
 * Takes the first bytes of a file away; what follows moves to its beginning. One step for whoever appends meanwhile, who loses
 * nothing. `bytes` is a whole number of the file system's blocks, and less than the file. False where that cannot be done.
 */
export function collapseFront(fd: number, bytes: number): Promise<boolean> {
  return whereSupported((addon) => finish(addon.collapseFront(fd, bytes)))
}

async function whereSupported(
  work: (addon: Extract<ReturnType<typeof loadAddon>, { is: 'loaded' }>['addon']) => Promise<unknown>,
): Promise<boolean> {
  const loaded = loadAddon()
  if (loaded.is !== 'loaded') return false
  try {
    await work(loaded.addon)
    return true
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EOPNOTSUPP') return false
    throw error
  }
}
