/** A user who logs in with a password. */
export interface User {
  /** Empty if there is one shared password. */
  readonly name: string
  readonly passwordHash: string
  readonly groups?: readonly string[] | undefined
}
