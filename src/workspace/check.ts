/** The result of checking one prerequisite of the server. */
export interface Check {
  readonly name: string
  readonly ok: boolean
  /** Description of the current state. */
  readonly found: string
  /** Steps that fix it; '' when nothing is needed. */
  readonly remedy: string
}
