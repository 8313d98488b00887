import { resolve } from 'node:path'
import { type Command, Option } from 'commander'
import { examples } from '../../../../lib/cli/examples.ts'
import { ExitStatus } from '../../../../lib/cli/run.ts'
import { formatTable, printable } from '../../../../lib/cli/table.ts'
import type {
  FormatFileView,
  FormatProjectView,
  LintFileView,
  LintProjectView,
} from '../../../lint/lint-views.ts'
import type { FileStyle } from '../../../lint/style-issue.ts'
import { fault } from '../../../errors.ts'
import { addProjectOption, type CliContext, contextOf } from '../context.ts'
import { LINT_FORMATS, type LintFormat, renderLint } from '../lint-formats.ts'

/** A project of ten thousand files takes minutes. */
const PROJECT_MS = 3_600_000

interface ScopeFlags {
  readonly pattern?: string
  readonly includeTests: boolean
}

interface CheckFlags extends ScopeFlags {
  readonly format?: LintFormat
}

interface FormatFlags extends ScopeFlags {
  readonly dryRun?: boolean
}

/** Adds the commands lint check and lint format. */
export function addLint(program: Command): void {
  const lint = addProjectOption(program.command('lint')).description('check and format source files')

  addScopeOptions(lint.command('check'))
    .description('list style violations in a file or the project; exit with 1 if there are any')
    .argument('[file]')
    .addHelpText('after', examples('analyzer lint check --format github'))
    .addOption(
      new Option('--format <format>', 'print annotations for a CI service instead of the result').choices(
        LINT_FORMATS,
      ),
    )
    .action(async (file: string | undefined, flags: CheckFlags, command: Command) => {
      const context = await contextOf(command)
      const answer = await check(context, file, scopeOf(file, flags))
      const files = 'fileResults' in answer ? answer.fileResults : [answer]
      printDiagnostics(answer)
      if (flags.format !== undefined) process.stdout.write(renderLint(files, flags.format))
      else context.output.result(answer, () => checkTable(files, answer))
      if (files.some(({ errorCount }) => errorCount > 0)) throw new ExitStatus(1)
    })

  addScopeOptions(lint.command('format'))
    .description('format a file or the project')
    .addHelpText('after', examples('analyzer lint format --dry-run src/main/java/shop/Order.java'))
    .argument('[file]')
    .option('-n, --dry-run', 'write nothing; print the formatted file, or the changes to the project')
    .action(async (file: string | undefined, flags: FormatFlags, command: Command) => {
      const context = await contextOf(command)
      const scope = scopeOf(file, flags)
      const dryRun = flags.dryRun === true
      const hasRemainingIssues =
        file === undefined
          ? await formatProject(context, scope, dryRun)
          : await formatFile(context, file, dryRun)
      if (hasRemainingIssues) throw new ExitStatus(1)
    })
}

function addScopeOptions(command: Command): Command {
  return command.option('--pattern <glob>', 'only matching files of the project').addOption(
    new Option('--include-tests [yes]', 'include test files')
      .choices(['true', 'false'])
      .preset('true')
      .default(true)
      .argParser((text) => {
        if (text === 'true' || text === 'false') return text === 'true'
        throw fault('BAD_REQUEST', `--include-tests must be true or false, not "${text}"`)
      }),
  )
}

function scopeOf(file: string | undefined, { pattern, includeTests }: ScopeFlags) {
  if (file !== undefined && (pattern !== undefined || !includeTests)) {
    throw fault('BAD_REQUEST', '--pattern and --include-tests apply to the whole project; omit them or FILE')
  }
  return { ...(pattern !== undefined && { pattern }), includeTests }
}

function check(
  { post }: CliContext,
  file: string | undefined,
  scope: object,
): Promise<LintFileView | LintProjectView> {
  return file === undefined
    ? post<LintProjectView>('/api/v1/linter/lint/project', scope, PROJECT_MS)
    : post<LintFileView>('/api/v1/linter/lint/file', { filePath: resolve(file) }, PROJECT_MS)
}

async function formatFile({ post, output }: CliContext, file: string, dryRun: boolean): Promise<boolean> {
  const body = { filePath: resolve(file), writeToFile: !dryRun }
  const answer = await post<FormatFileView>('/api/v1/linter/format/file', body, PROJECT_MS)
  const { remainingErrors, formattedContent, filePath, hasChanges } = answer
  printDiagnostics(answer)
  if (dryRun) await output.text(answer, formattedContent ?? '')
  else output.result(answer, () => `${filePath}: ${hasChanges ? 'formatted' : 'not changed'}`)
  printIssues(filePath, remainingErrors)
  return remainingErrors.length > 0
}

async function formatProject({ post, output }: CliContext, scope: object, dryRun: boolean): Promise<boolean> {
  const answer = await post<FormatProjectView>(
    '/api/v1/linter/format/project',
    { ...scope, dryRun },
    PROJECT_MS,
  )
  const { fileResults, filesFormatted, filesScanned, filesWithChanges, filesWithRemainingErrors } = answer
  printDiagnostics(answer)
  const summary = `${filesScanned} files scanned, ${filesWithChanges} ${dryRun ? 'would change' : 'changed'}`
  if (dryRun) {
    const diffs = fileResults.map(({ diff = '' }) => diff)
    await output.text(answer, diffs.join(''))
    output.progress(summary)
  } else output.result(answer, () => [...filesFormatted, summary].join('\n'))
  for (const { filePath, remainingErrors } of fileResults) printIssues(filePath, remainingErrors)
  return filesWithRemainingErrors > 0
}

function checkTable(files: readonly FileStyle[], answer: LintFileView | LintProjectView): string {
  const rows = files.flatMap(({ filePath, errors }) =>
    errors.map(({ line, endLine, col, ruleId, detail }) => [
      filePath,
      line === endLine ? `${line}:${col}` : `${line}-${endLine}`,
      ruleId,
      detail,
    ]),
  )
  const summary =
    'filesScanned' in answer
      ? `${answer.filesScanned} files scanned, ${answer.filesWithErrors} with issues, ${answer.totalErrorCount} issues`
      : `${answer.errorCount} issues`
  return rows.length === 0 ? summary : `${formatTable(['File', 'Line', 'Rule', 'What'], rows)}\n\n${summary}`
}

/** Uses standard error because results on standard output may be piped. */
function printDiagnostics({ diagnostics }: { readonly diagnostics: readonly string[] }): void {
  for (const diagnostic of diagnostics) process.stderr.write(`analyzer: ${printable(diagnostic)}\n`)
}

function printIssues(filePath: string, issues: FileStyle['errors']): void {
  for (const { line, col, detail } of issues)
    process.stderr.write(`analyzer: ${printable(`${filePath}:${line}:${col}: ${detail}`)}\n`)
}
