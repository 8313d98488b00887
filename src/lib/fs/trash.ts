import { randomBytes } from 'node:crypto'
import { readdir } from 'node:fs/promises'
import { join } from 'node:path'
import {
  moveToTrash,
  removeTrash,
  restoreFromTrash,
  TRASH_PREFIX,
  type TrashLocation,
} from '../../native/files/trash.ts'

export type { TrashLocation } from '../../native/files/trash.ts'

/** Options for discarding an entry. */
export interface DiscardOptions {
  /** Called after the entry is renamed and before anything is deleted: false restores its name. */
  readonly isStillWanted?: () => Promise<boolean>
  readonly onSeen?: (removed: number) => void
}

/**
 * Deletes a file or directory tree: first one rename, after which it no longer exists under its name, then step by step. Leftovers
 * of a crash start with TRASH_PREFIX and are handled by `removeLeftTrash`. Below the root no symlink is
 * followed and no mount entered. Returns whether it was deleted; throws the system's error.
 */
export async function discard(
  place: TrashLocation,
  name: string,
  { isStillWanted, onSeen }: DiscardOptions = {},
): Promise<boolean> {
  const trash = `${TRASH_PREFIX}${randomBytes(8).toString('hex')}`
  await moveToTrash(place, name, trash)
  try {
    if (isStillWanted !== undefined && !(await isStillWanted())) {
      await restoreFromTrash(place, trash, name)
      return false
    }
  } catch (error) {
    await restoreFromTrash(place, trash, name)
    throw error
  }
  await removeTrash(place, trash, { onSeen })
  return true
}

/** Lists the leftovers of interrupted deletions in a directory; empty if it does not exist. */
export async function findTrash({ root, parent }: TrashLocation): Promise<readonly string[]> {
  try {
    return (await readdir(join(root, parent))).filter((name) => name.startsWith(TRASH_PREFIX))
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return []
    throw error
  }
}

/** Completes an interrupted deletion. */
export function removeLeftTrash(
  place: TrashLocation,
  trash: string,
  options: Parameters<typeof removeTrash>[2] = {},
): Promise<void> {
  return removeTrash(place, trash, options)
}
