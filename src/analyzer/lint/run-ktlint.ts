import { run } from '../../lib/process/run.ts'
import type { KtlintCommand } from './ktlint-command.ts'
import type { Static } from 'typebox'
import { parseJson } from '../../lib/schema/parse-json.ts'
import { Type } from '../../lib/schema/type.ts'

const position = Type.Integer({ minimum: 0 })

/** An issue reported by ktlint; lines and columns count from 1, or are 0 if unknown. */
const issueSchema = Type.Object({
  line: position,
  column: position,
  message: Type.String(),
  /** "" for a syntax error. */
  rule: Type.String(),
})
const reportSchema = Type.Array(Type.Object({ file: Type.String(), errors: Type.Array(issueSchema) }))

/** An issue reported by ktlint. */
export type KtlintIssue = Readonly<Static<typeof issueSchema>>

const TIMEOUT_MS = 300_000

/**
 * Runs ktlint on files in a folder, and returns the issues, or with `format` the remaining ones, by file.
 *
 * @throws Error when it cannot be run or produces no report
 */
export async function runKtlint(
  { program, argv }: KtlintCommand,
  folder: string,
  files: readonly string[],
  mode: 'check' | 'format',
  signal: AbortSignal,
): Promise<ReadonlyMap<string, readonly KtlintIssue[]>> {
  const flags = ['--log-level=none', '--relative', '--reporter=json', ...(mode === 'format' ? ['-F'] : [])]
  // ktlint would treat a name that begins with "!" as an exclusion.
  const names = files.map((file) => `./${file}`)
  const result = await run(program, [...argv, ...flags, ...names], {
    cwd: folder,
    timeoutMs: TIMEOUT_MS,
    signal,
  })
  if (result.signal !== null) throw new Error(`ktlint took longer than ${TIMEOUT_MS / 1_000} s`)
  const report = parseJson(reportSchema, result.stdout)
  if (report !== undefined)
    return new Map(report.map(({ file, errors }) => [file.replaceAll('\\', '/'), errors]))
  const output = (result.stderr || result.stdout).trim().slice(0, 500)
  throw new Error(`ktlint exited with status ${result.status} without a report: ${output}`)
}
