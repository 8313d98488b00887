/** A copy of a workspace at one instant, from which its forks are created. */
export interface ForkOrigin {
  readonly id: string
  /** How long the workspace was paused for the copy; 0 for one that was not running. */
  readonly pausedMs: number
  /** Whether forks continue its programs; otherwise they boot. */
  readonly hasMemory: boolean
}

/** Parts to copy for forks. */
export interface ForkCopy {
  /** Number of workspaces that will be created from the copy. */
  readonly children: number
  /** Whether to copy the memory; undefined to copy it where that is possible. */
  readonly memory: boolean | undefined
}

/**
 * Fork operations of a backend. Copies are made under a server's lock on the source, and a server that starts removes those of
 * an earlier one.
 */
export interface Forks {
  /**
   * Copies the files of a workspace in any state, which is paused meanwhile if it is running.
   *
   * @throws FORK_UNSUPPORTED when it cannot be copied, or not with its memory
   * @throws BACKEND_ERROR with nothing left behind; the workspace runs on in both cases
   */
  readonly take: (name: string, copy: ForkCopy, signal: AbortSignal) => Promise<ForkOrigin>
  /** Removes the copy; workspaces that were created from it stay. */
  readonly release: (id: string) => Promise<void>
}
