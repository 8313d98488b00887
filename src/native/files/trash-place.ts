/** What the names of things begin with that wait for their end, in the directory they were in. */
export const TRASH_PREFIX = '.trash-'

/** A directory that things are removed from: `parent` is relative to `root`, which is trusted; `.` is the root itself. */
export interface TrashPlace {
  readonly root: string
  readonly parent: string
}
