/** What every command takes. */
export interface GlobalOptions {
  readonly config?: string
  readonly json?: boolean
  readonly table?: boolean
}
