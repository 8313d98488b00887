/** One thing that the server needs, and how it is. */
export interface Check {
  readonly name: string
  readonly ok: boolean
  /** What was found. */
  readonly found: string
  /** What to do about it; '' when nothing is to be done. */
  readonly remedy: string
}
