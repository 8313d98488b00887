/** Options for measuring trees. */
export interface WalkOptions {
  /** Number of threads of the addon, 0 to 64; 0, the default, is one per processor, at most 4. */
  readonly threads?: number
  /**
   * Minimum allocated size of files whose shared extents are looked up, which costs about as much as two
   * stats; default 0 for all files. The fallback looks up none.
   */
  readonly extentsFromBytes?: number
  /**
   * Time now. Uses extents that earlier walks of this process have read, of files that have not changed since,
   * and remembers those of this walk; by default it reads all.
   */
  readonly rememberAt?: Date
  /** Cancels the walk, which then rejects with the signal's reason. */
  readonly signal?: AbortSignal | undefined
  /** Called periodically with the number of entries so far. */
  readonly onSeen?: ((entries: number) => void) | undefined
}

/** Totals of a tree, including its root. Files with several names (hard links) count once. */
export interface TreeTotals {
  /** Everything except directories. */
  readonly files: number
  readonly directories: number
  /** Apparent size of regular files and symlinks. */
  readonly logicalBytes: number
  /** Allocated size of all entries, including directories: the figure of `du -s -B1`. */
  readonly physicalBytes: number
  /** Number of directories with unreadable entries. */
  readonly unreadable: number
  /** One of them. */
  readonly firstUnreadable: string | undefined
}

/** Result for a tree; `message` contains path and reason, `code` is the system's (`ENOENT` …). */
export type WalkedTree =
  | ({ readonly is: 'measured' } & TreeTotals)
  | { readonly is: 'failed'; readonly code: string; readonly message: string }

/** Result for all trees. */
export interface WalkReport {
  /** In the order of the paths. */
  readonly trees: readonly WalkedTree[]
  /**
   * Bytes that the sum of all physicalBytes counts repeatedly: extents shared by files (reflinks), and files
   * with names in several trees.
   */
  readonly sharedBytes: number
  /** Number of files that the file system was asked about, because their extents were not remembered. */
  readonly askedFiles: number
}

/** Returns the result for a root that cannot be measured. */
export function failedTree(error: unknown): WalkedTree {
  const { code = 'UNKNOWN', message } = error as NodeJS.ErrnoException
  return { is: 'failed', code, message }
}
