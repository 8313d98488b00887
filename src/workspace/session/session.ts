/** A tmux session inside a workspace. */
export interface Session {
  /** tmux's own identifier (`$3`), the only way a session is ever addressed (threat W6). */
  readonly id: string
  readonly name: string
  readonly workspaceName: string
  readonly createdAt: Date
  readonly isAttached: boolean
  readonly windowCount: number
}
