/** Something in a file that is not as it should be. Lines and columns count from 1. */
export interface StyleIssue {
  readonly line: number
  readonly col: number
  readonly endLine: number
  /** "format", a rule of ktlint's, or what kept the file from being formatted: "syntax", "encoding", "size", "options" … */
  readonly ruleId: string
  readonly detail: string
  readonly canBeAutoCorrected: boolean
}

/** What there is to say of one file. */
export interface FileStyle {
  /** Below the project's root. */
  readonly filePath: string
  readonly errors: readonly StyleIssue[]
  readonly errorCount: number
  readonly durationMs: number
}

/** One that is about a whole file, which stays as it is. */
export function fileIssue(ruleId: string, detail: string, line = 1, col = 1): StyleIssue {
  return { line, col, endLine: line, ruleId, detail, canBeAutoCorrected: false }
}

export function fileStyle(filePath: string, errors: readonly StyleIssue[], startMs: number): FileStyle {
  return { filePath, errors, errorCount: errors.length, durationMs: Math.round(performance.now() - startMs) }
}
