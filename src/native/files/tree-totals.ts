export interface WalkOptions {
  /** How many threads the addon uses, 0 to 64; 0, the default, is as many as the machine has, at most 4. */
  readonly threads?: number
  /**
   * A file that has allocated less is not asked what it shares, which costs about as much as two more looks at it; default 0:
   * every file is. The fallback asks none.
   */
  readonly extentsFromBytes?: number
  /** Ends the walk soon; it rejects with the signal's reason then. */
  readonly signal?: AbortSignal | undefined
  /** Told now and then how many entries have been seen. */
  readonly onSeen?: ((entries: number) => void) | undefined
}

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

/** A tree as it was found; `message` names path and reason, `code` is the system's (`ENOENT` …). */
export type WalkedTree =
  | ({ readonly is: 'measured' } & TreeTotals)
  | { readonly is: 'failed'; readonly code: string; readonly message: string }

export interface WalkReport {
  /** In the order of the paths. */
  readonly trees: readonly WalkedTree[]
  /**
   * What the sum of all physicalBytes counts more than once: extents that files share (reflinks), and files that have names in
   * several of the trees.
   */
  readonly sharedBytes: number
}

/** A root that cannot be counted, as it is told. */
export function failedTree(error: unknown): WalkedTree {
  const { code = 'UNKNOWN', message } = error as NodeJS.ErrnoException
  return { is: 'failed', code, message }
}
