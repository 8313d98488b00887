/** A user who logs in with a password. */
export interface User {
  /** Empty where there is one password and no names. */
  readonly name: string
  readonly passwordHash: string
}
