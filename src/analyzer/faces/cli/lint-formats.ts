import type { FileStyle, StyleIssue } from '../../lint/style-issue.ts'
import { sarifFile, sarifLog } from './sarif.ts'

/** Report formats for CI services. */
export const LINT_FORMATS = ['github', 'sarif'] as const
/** A report format for CI services. */
export type LintFormat = (typeof LINT_FORMATS)[number]

/** Renders the result of a style check for a CI service. */
export function renderLint(files: readonly FileStyle[], format: LintFormat): string {
  return format === 'github' ? github(files) : sarif(files)
}

/** Workflow commands: https://docs.github.com/actions/reference/workflow-commands-for-github-actions */
function github(files: readonly FileStyle[]): string {
  return files
    .flatMap(({ filePath, errors }) =>
      errors.map((issue) => {
        const { line, endLine, col, ruleId, detail } = issue
        const properties = { file: filePath, line, endLine, col, title: ruleId }
        const written = Object.entries(properties).map(([key, value]) => `${key}=${property(String(value))}`)
        return `::${levelOf(issue)} ${written.join(',')}::${message(detail)}\n`
      }),
    )
    .join('')
}

function message(text: string): string {
  return text.replaceAll('%', '%25').replaceAll('\r', '%0D').replaceAll('\n', '%0A')
}

function property(text: string): string {
  return message(text).replaceAll(':', '%3A').replaceAll(',', '%2C')
}

function sarif(files: readonly FileStyle[]): string {
  const rules = new Set(files.flatMap(({ errors }) => errors.map(({ ruleId }) => ruleId)))
  const results = files.flatMap(({ filePath, errors }) =>
    errors.map((issue) => ({
      ruleId: issue.ruleId,
      level: levelOf(issue),
      message: { text: issue.detail },
      locations: [
        {
          physicalLocation: {
            artifactLocation: sarifFile(filePath),
            region: { startLine: issue.line, startColumn: issue.col, endLine: issue.endLine },
          },
        },
      ],
    })),
  )
  return sarifLog(
    [...rules].map((id) => ({ id })),
    results,
  )
}

function levelOf({ canBeAutoCorrected }: StyleIssue): 'warning' | 'error' {
  return canBeAutoCorrected ? 'warning' : 'error'
}
