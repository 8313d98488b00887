import type { StyledFile } from './style-task.ts'
import type { FileStyle } from './style-issue.ts'
import type { StyledProject } from './lint-service.ts'

export interface LintProjectView {
  readonly projectPath: string
  /** Of the files with errors alone. */
  readonly fileResults: readonly FileStyle[]
  readonly filesScanned: number
  readonly filesWithErrors: number
  readonly totalErrorCount: number
  readonly durationMs: number
  readonly diagnostics: readonly string[]
}

export interface LintFileView extends FileStyle {
  readonly isIgnored: boolean
  readonly diagnostics: readonly string[]
}

export interface FormatFileView {
  readonly filePath: string
  readonly formattedContent: string | null
  readonly hasChanges: boolean
  readonly remainingErrors: FileStyle['errors']
  readonly durationMs: number
  readonly isIgnored: boolean
  readonly diagnostics: readonly string[]
}

export interface FormatProjectView {
  readonly projectPath: string
  /** Those that were, or with `dryRun` would be, written. */
  readonly filesFormatted: readonly string[]
  readonly filesScanned: number
  readonly filesWithChanges: number
  readonly durationMs: number
  /** Of the files that change, or keep errors; `diff` where nothing is written. */
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

export function formatProjectView(
  projectPath: string,
  styled: StyledProject,
  dryRun: boolean,
  startMs: number,
): FormatProjectView {
  const changed = styled.files.filter(({ hasChanges }) => hasChanges)
  const kept = styled.files.filter(({ errorCount }) => errorCount > 0)
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
    filesWithRemainingErrors: kept.length,
    dryRun,
    diagnostics: styled.diagnostics,
  }
}

function sinceMs(startMs: number): number {
  return Math.round(performance.now() - startMs)
}
