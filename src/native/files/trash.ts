import { warnOfFallback } from '../fallback-warning.ts'
import { type BackgroundWork, finish } from '../in-background.ts'
import { type Addon, loadAddon } from '../load.ts'
import * as inJs from './trash-fallback.ts'
import type { TrashPlace } from './trash-place.ts'

export { TRASH_PREFIX, type TrashPlace } from './trash-place.ts'

/** Whether this machine can remove things without following a symlink: not on systems other than Linux without the addon. */
export function canRemoveSafely(): boolean {
  return loadAddon().is === 'loaded' || process.platform === 'linux'
}

/**
 * Renames an entry of a directory to `trash`, which begins with TRASH_PREFIX; after a crash it is one or the other, whole. Below
 * the root no symlink is followed (threats P1, P2), and no room on the disk is needed.
 *
 * @throws Error with code, errno, syscall and path: ENOENT; ELOOP or ENOTDIR where a symlink stands in the way; EXDEV or EBUSY
 *   for a mount point; ESTALE when it was exchanged meanwhile; EEXIST
 */
export async function moveToTrash(place: TrashPlace, name: string, trash: string): Promise<void> {
  await run(
    'moveToTrash',
    (addon) => addon.moveToTrash(place.root, place.parent, name, trash),
    () => inJs.moveToTrash(place, name, trash),
  )
}

/** Gives an entry its name back, where that is free: else EEXIST. */
export async function restoreFromTrash(place: TrashPlace, trash: string, name: string): Promise<void> {
  await run(
    'restoreFromTrash',
    (addon) => addon.restoreFromTrash(place.root, place.parent, trash, name),
    () => inJs.restoreFromTrash(place, trash, name),
  )
}

/**
 * Removes what is called `trash` with everything in it, away from the calling thread. No symlink is followed and no mount
 * entered; what cannot be removed stays, and the first such thing is thrown. What is gone already is no error.
 */
export async function removeTrash(
  place: TrashPlace,
  trash: string,
  options: {
    readonly signal?: AbortSignal | undefined
    readonly onSeen?: ((removed: number) => void) | undefined
  } = {},
): Promise<void> {
  await run(
    'removeTrash',
    (addon) => addon.removeTrash(place.root, place.parent, trash),
    () => inJs.removeTrash(place, trash),
    options,
  )
}

async function run(
  what: string,
  start: (addon: Addon) => BackgroundWork,
  fallback: () => void,
  options: Parameters<typeof finish>[1] = {},
): Promise<void> {
  const loaded = loadAddon()
  if (loaded.is === 'loaded') await finish(start(loaded.addon), options)
  else {
    if (!canRemoveSafely()) throw new Error(`removing needs the addon on this system: ${loaded.reason}`)
    warnOfFallback(what, loaded.reason)
    fallback()
  }
}
