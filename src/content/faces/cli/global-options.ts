/** Options of every command. */
export interface GlobalOptions {
  readonly config?: string
  readonly json?: boolean
  readonly table?: boolean
}
