import type { SourceFile } from './source-file.ts'
import type { FileStyle } from './style-issue.ts'

/** A request to check or format a Java file. */
export interface StyleTask {
  readonly root: string
  readonly file: SourceFile
  readonly writes: boolean
  /** Requested result. */
  readonly wanted: 'issues' | 'text' | 'diff'
}

/** Result of checking or formatting a file. */
export interface StyledFile extends FileStyle {
  /**
   * Whether the formatted form differs; if writing was requested and `errors` is empty, it has been written.
   */
  readonly hasChanges: boolean
  readonly isIgnored: boolean
  /** Formatted form, or the unchanged file if there is none. */
  readonly text?: string
  readonly diff?: string
  readonly diagnostics: readonly string[]
}
