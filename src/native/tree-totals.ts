/** What a tree holds, its root included. Files with several names (hard links) count once. */
export interface TreeTotals {
  /** Everything but directories. */
  readonly files: number
  readonly directories: number
  /** Apparent size of regular files and symlinks. */
  readonly logicalBytes: number
  /** What all entries have allocated, directories included: the figure of `du -s -B1`. */
  readonly physicalBytes: number
  /** Directories whose entries could not all be seen. */
  readonly unreadable: number
  /** One of them. */
  readonly firstUnreadable: string | undefined
}
