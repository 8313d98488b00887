/** A copy of a workspace at one instant, from which its forks are created. */
export interface ForkOrigin {
  readonly id: string
  /** How long the workspace was paused for the copy; 0 for one that was not running. */
  readonly pausedMs: number
}

/**
 * Fork operations of a backend. Copies are made under a server's lock on the source, and a server that starts removes those of
 * an earlier one.
 */
export interface Forks {
  /**
   * Copies the files of a workspace in any state, which is paused meanwhile if it is running.
   *
   * @param children number of workspaces that will be created from the copy
   * @throws FORK_UNSUPPORTED when it cannot be copied
   * @throws BACKEND_ERROR with nothing left behind; the workspace runs on in both cases
   */
  readonly take: (name: string, children: number, signal: AbortSignal) => Promise<ForkOrigin>
  /** Removes the copy; workspaces that were created from it stay. */
  readonly release: (id: string) => Promise<void>
}
