import { waitForWork } from '../background-work.ts'
import { loadAddon } from '../load.ts'

/** A range of bytes in a file. */
export interface FileRange {
  readonly offset: number
  readonly bytes: number
}

/**
 * Deallocates ranges of an open file: they read as zeros and use no space, while the file's size stays.
 * Returns false if neither the addon nor the file system supports it.
 */
export function punchHoles(fd: number, ranges: readonly FileRange[], signal?: AbortSignal): Promise<boolean> {
  const numbers = Float64Array.from(ranges.flatMap(({ offset, bytes }) => [offset, bytes]))
  return whereSupported((addon) => waitForWork(addon.punchHoles(fd, numbers), { signal }))
}

/**
 * Removes the first bytes of a file; the rest moves to its start. Atomic for concurrent writers that append,
 * which lose nothing. `bytes` must be a multiple of the file system's block size and less than the file size.
 * Returns false if unsupported.
 */
export function collapseFront(fd: number, bytes: number): Promise<boolean> {
  return whereSupported((addon) => waitForWork(addon.collapseFront(fd, bytes)))
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
