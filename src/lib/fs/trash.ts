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

export interface DiscardOptions {
  /** Asked once the entry is out of the way and before anything of it is gone: false gives it its name back. */
  readonly isStillWanted?: () => Promise<boolean>
  readonly onSeen?: (removed: number) => void
}

/**
 * Deletes an entry of a directory, a file or a whole tree: by one rename, after which it is gone for everybody, and then piece
 * by piece. What a crash leaves begins with TRASH_PREFIX and is for `removeLeftTrash`. Below the place's root no symlink is
 * followed and no mount entered. Returns whether it is gone; throws the system's error.
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

/** What earlier deletions have left in a directory, by its name; none where there is no such directory. */
export async function findTrash({ root, parent }: TrashLocation): Promise<readonly string[]> {
  try {
    return (await readdir(join(root, parent))).filter((name) => name.startsWith(TRASH_PREFIX))
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return []
    throw error
  }
}

/** Ends what an earlier deletion has begun. */
export function removeLeftTrash(
  place: TrashLocation,
  trash: string,
  options: Parameters<typeof removeTrash>[2] = {},
): Promise<void> {
  return removeTrash(place, trash, options)
}
