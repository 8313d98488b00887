import type { SourceFile } from './source-file.ts'
import type { FileStyle } from './style-issue.ts'

/** What is to be done with one Java file. */
export interface StyleTask {
  readonly root: string
  readonly file: SourceFile
  readonly writes: boolean
  /** What of the formatted form is wanted back. */
  readonly wanted: 'issues' | 'text' | 'diff'
}

export interface StyledFile extends FileStyle {
  /** Whether the formatted form is another; it has been written where that was asked and `errors` is empty. */
  readonly hasChanges: boolean
  readonly isIgnored: boolean
  /** The formatted form, or the file as it is where there is none. */
  readonly text?: string
  readonly diff?: string
  readonly diagnostics: readonly string[]
}
