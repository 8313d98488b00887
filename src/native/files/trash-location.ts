/** Prefix of entries that wait for deletion in their original directory. */
export const TRASH_PREFIX = '.trash-'

/**
 * A directory to delete entries from: `parent` is relative to `root`, which is trusted; `.` is the root
 * itself.
 */
export interface TrashLocation {
  readonly root: string
  readonly parent: string
}
