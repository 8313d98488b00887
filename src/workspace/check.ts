/** The result of checking one prerequisite of the server. */
export interface Check {
  readonly name: string
  readonly ok: boolean
  /** Whether it is there but fails, such as work of a running server. */
  readonly isTrouble?: boolean
  /** Description of the current state. */
  readonly found: string
  /** Steps that fix it; '' when nothing is needed. */
  readonly remedy: string
  /** The way to get what is missing; undefined if a person must decide. */
  readonly repair?: Repair | undefined
}

/** A package of Debian, or a command. */
export type Repair = { readonly package: string } | { readonly argv: readonly [string, ...string[]] }
