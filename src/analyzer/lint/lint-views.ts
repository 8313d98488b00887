import type { StyledFile } from './style-task.ts'
import type { FileStyle } from './style-issue.ts'
import type { StyledProject } from './lint-service.ts'

/** Response of a check of the project. */
export interface LintProjectView {
  readonly projectPath: string
  /** Only files with errors. */
  readonly fileResults: readonly FileStyle[]
  readonly filesScanned: number
  readonly filesWithErrors: number
  readonly totalErrorCount: number
  readonly durationMs: number
  readonly diagnostics: readonly string[]
}

/** Response of a check of a file. */
export interface LintFileView extends FileStyle {
  readonly isIgnored: boolean
  readonly diagnostics: readonly string[]
}

/** Response of formatting a file. */
export interface FormatFileView {
  readonly filePath: string
  readonly formattedContent: string | null
  readonly hasChanges: boolean
  readonly remainingErrors: FileStyle['errors']
  readonly durationMs: number
  readonly isIgnored: boolean
  readonly diagnostics: readonly string[]
}

/** Response of formatting the project. */
export interface FormatProjectView {
  readonly projectPath: string
  /** Files that were, or with `dryRun` would be, written. */
  readonly filesFormatted: readonly string[]
  readonly filesScanned: number
  readonly filesWithChanges: number
  readonly durationMs: number
  /** Files that change or have remaining errors; `diff` only with `dryRun`. */
  readonly fileResults: readonly {
    readonly filePath: string
    readonly hasChanges: boolean
    readonly remainingErrors: FileStyle['errors']
    readonly diff?: string
  }[]
  readonly filesWithRemainingErrors: number
  readonly dryRun: boolean
  readonly diagnostics: readonly string[]
}

/** Converts a styled file to the response of a check. */
export function lintFileView({
  filePath,
  errors,
  errorCount,
  durationMs,
  isIgnored,
  diagnostics,
}: StyledFile): LintFileView {
  return { filePath, errors, errorCount, durationMs, isIgnored, diagnostics }
}

/** Converts styled files to the response of a check of the project. */
export function lintProjectView(
  projectPath: string,
  styled: StyledProject,
  startMs: number,
): LintProjectView {
  const fileResults = styled.files
    .filter(({ errorCount }) => errorCount > 0)
    .map(({ filePath, errors, errorCount, durationMs }) => ({ filePath, errors, errorCount, durationMs }))
  return {
    projectPath,
    fileResults,
    filesScanned: styled.filesScanned,
    filesWithErrors: fileResults.length,
    totalErrorCount: fileResults.reduce((sum, { errorCount }) => sum + errorCount, 0),
    durationMs: sinceMs(startMs),
    diagnostics: styled.diagnostics,
  }
}

/** Converts a styled file to the response of formatting it. */
export function formatFileView({
  filePath,
  text,
  hasChanges,
  errors,
  durationMs,
  isIgnored,
  diagnostics,
}: StyledFile): FormatFileView {
  return {
    filePath,
    formattedContent: text ?? null,
    hasChanges,
    remainingErrors: errors,
    durationMs,
    isIgnored,
    diagnostics,
  }
}

/** Converts styled files to the response of formatting the project. */
export function formatProjectView(
  projectPath: string,
  styled: StyledProject,
  dryRun: boolean,
  startMs: number,
): FormatProjectView {
  const changed = styled.files.filter(({ hasChanges }) => hasChanges)
  const withErrors = styled.files.filter(({ errorCount }) => errorCount > 0)
  return {
    projectPath,
    filesFormatted: changed.map(({ filePath }) => filePath),
    filesScanned: styled.filesScanned,
    filesWithChanges: changed.length,
    durationMs: sinceMs(startMs),
    fileResults: styled.files
      .filter(({ hasChanges, errorCount }) => hasChanges || errorCount > 0)
      .map(({ filePath, hasChanges, errors, diff }) => ({
        filePath,
        hasChanges,
        remainingErrors: errors,
        ...(diff !== undefined && { diff }),
      })),
    filesWithRemainingErrors: withErrors.length,
    dryRun,
    diagnostics: styled.diagnostics,
  }
}

function sinceMs(startMs: number): number {
  return Math.round(performance.now() - startMs)
}
