/** A style violation, or a problem that prevents formatting. Lines and columns count from 1. */
export interface StyleIssue {
  readonly line: number
  readonly col: number
  readonly endLine: number
  /**
   * "format", a ktlint rule, or the problem that prevents formatting: "syntax", "encoding", "size", "options"
   * …
   */
  readonly ruleId: string
  readonly detail: string
  readonly canBeAutoCorrected: boolean
}

/** Issues of one file. */
export interface FileStyle {
  /** Path relative to the project's root. */
  readonly filePath: string
  readonly errors: readonly StyleIssue[]
  readonly errorCount: number
  readonly durationMs: number
}

/** Creates an issue that prevents formatting a file. */
export function fileIssue(ruleId: string, detail: string, line = 1, col = 1): StyleIssue {
  return { line, col, endLine: line, ruleId, detail, canBeAutoCorrected: false }
}

/** Creates the result of a file. */
export function fileStyle(filePath: string, errors: readonly StyleIssue[], startMs: number): FileStyle {
  return { filePath, errors, errorCount: errors.length, durationMs: Math.round(performance.now() - startMs) }
}
