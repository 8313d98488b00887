import { warnOfFallback } from '../fallback-warning.ts'
import { type BackgroundWork, waitForWork } from '../background-work.ts'
import { type Addon, loadAddon } from '../load.ts'
import * as inJs from './trash-fallback.ts'
import type { TrashLocation } from './trash-location.ts'

export { TRASH_PREFIX, type TrashLocation } from './trash-location.ts'

/**
 * Whether this machine can delete entries without following symlinks; other systems than Linux need the
 * addon.
 */
export function canRemoveSafely(): boolean {
  return loadAddon().is === 'loaded' || process.platform === 'linux'
}

/**
 * Renames an entry of a directory to `trash`, which starts with TRASH_PREFIX. Atomic even in a crash. Follows
 * no symlink below the root (threats P1, P2) and needs no disk space.
 *
 * @throws Error with code, errno, syscall and path: ENOENT; ELOOP or ENOTDIR when a symlink is in the path;
 * EXDEV or EBUSY for a mount point; ESTALE when the entry was replaced meanwhile; EEXIST
 */
export async function moveToTrash(location: TrashLocation, name: string, trash: string): Promise<void> {
  await run(
    'moveToTrash',
    (addon) => addon.moveToTrash(location.root, location.parent, name, trash),
    () => inJs.moveToTrash(location, name, trash),
  )
}

/** Restores an entry's name. @throws EEXIST when the name is taken */
export async function restoreFromTrash(location: TrashLocation, trash: string, name: string): Promise<void> {
  await run(
    'restoreFromTrash',
    (addon) => addon.restoreFromTrash(location.root, location.parent, trash, name),
    () => inJs.restoreFromTrash(location, trash, name),
  )
}

/**
 * Deletes `trash` with everything in it, off the calling thread. Follows no symlink and enters no mount. What
 * cannot be deleted stays, and the first such error is thrown. A missing entry is not an error.
 */
export async function removeTrash(
  location: TrashLocation,
  trash: string,
  options: {
    readonly signal?: AbortSignal | undefined
    readonly onSeen?: ((removed: number) => void) | undefined
  } = {},
): Promise<void> {
  await run(
    'removeTrash',
    (addon) => addon.removeTrash(location.root, location.parent, trash),
    () => inJs.removeTrash(location, trash),
    options,
  )
}

async function run(
  what: string,
  start: (addon: Addon) => BackgroundWork,
  fallback: () => void,
  options: Parameters<typeof waitForWork>[1] = {},
): Promise<void> {
  const loaded = loadAddon()
  if (loaded.is === 'loaded') await waitForWork(start(loaded.addon), options)
  else {
    if (!canRemoveSafely())
      throw new Error(`deleting requires the native addon on this system: ${loaded.reason}`)
    warnOfFallback(what, loaded.reason)
    fallback()
  }
}
