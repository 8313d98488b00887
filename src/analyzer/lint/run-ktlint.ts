import { run } from '../../lib/process/run.ts'
import type { KtlintCommand } from './ktlint-command.ts'
import type { Static } from 'typebox'
import { parseJson } from '../../lib/schema/parse-json.ts'
import { Type } from '../../lib/schema/type.ts'

const position = Type.Integer({ minimum: 0 })

/** What ktlint says of a file; its lines and columns count from 1, or are 0 where it does not know. */
const issueSchema = Type.Object({
  line: position,
  column: position,
  message: Type.String(),
  /** "" for what is no Kotlin. */
  rule: Type.String(),
})
const reportSchema = Type.Array(Type.Object({ file: Type.String(), errors: Type.Array(issueSchema) }))

export type KtlintIssue = Readonly<Static<typeof issueSchema>>

const TIMEOUT_MS = 300_000

/**
 * Runs ktlint over files in a folder, and says what it finds, or what it cannot correct, by file.
 *
 * @throws Error with a sentence when it cannot be run or gives no report
 */
export async function runKtlint(
  { program, argv }: KtlintCommand,
  folder: string,
  files: readonly string[],
  mode: 'check' | 'format',
  signal: AbortSignal,
): Promise<ReadonlyMap<string, readonly KtlintIssue[]>> {
  const flags = ['--log-level=none', '--relative', '--reporter=json', ...(mode === 'format' ? ['-F'] : [])]
  // A name that begins with "!" would be taken for one to leave out.
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
  const said = (result.stderr || result.stdout).trim().slice(0, 500)
  throw new Error(`ktlint ended with status ${result.status} and gave no report: ${said}`)
}
