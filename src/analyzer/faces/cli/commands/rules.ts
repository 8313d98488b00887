import { existsSync, writeFileSync } from 'node:fs'
import { type Command, Option } from 'commander'
import { counted } from '../../../../lib/cli/counted.ts'
import { examples } from '../../../../lib/cli/examples.ts'
import { ExitStatus } from '../../../../lib/cli/run.ts'
import { formatTable } from '../../../../lib/cli/table.ts'
import { yaml } from '../../../../lib/config/yaml.ts'
import { fault } from '../../../errors.ts'
import type { inferRules } from '../../../query/rules/infer.ts'
import type { rulesOf } from '../../../query/rules/rules.ts'
import type { Violation } from '../../../query/rules/violation.ts'
import { addProjectOption, type CliContext, contextOf, projectOf } from '../context.ts'
import { SOURCE_ANSWER_MS } from '../server-client.ts'

const PAGE_SIZE = 5_000

interface RulesFlags {
  readonly rules?: string
  readonly baseline?: string
  readonly freeze?: boolean
  readonly prune?: boolean
  readonly all?: boolean
  readonly format?: 'sarif'
}

type RulesAnswer = Awaited<ReturnType<typeof rulesOf>>
type InferAnswer = Awaited<ReturnType<typeof inferRules>>

/** Adds the commands rules and rules infer. */
export function addRules(program: Command): void {
  const rules = addProjectOption(program.command('rules'))
    .description('check architecture rules; exit with 1 if an error is not in the baseline')
    .addHelpText(
      'after',
      examples('analyzer rules', 'analyzer rules --freeze', 'analyzer rules --rules ci.yml --format sarif'),
    )
    .option('--rules <file>', 'rules file; default: analyzer-rules.yml in the project')
    .option('--baseline <file>', 'known violations, which do not fail; default: beside the rules file')
    .option('--freeze', 'write all current violations to the baseline')
    .option('--prune', 'remove violations that no longer exist from the baseline')
    .option('--all', 'list violations in the baseline too')
    .addOption(
      new Option('--format <format>', 'print a report for a CI service instead of the result').choices([
        'sarif',
      ]),
    )
    .action(checkRules)

  addProjectOption(rules.command('infer'))
    .description('propose rules that the project satisfies now')
    .addHelpText(
      'after',
      examples('analyzer rules infer', 'analyzer rules infer --output analyzer-rules.yml'),
    )
    .option('-o, --output <file>', 'write to a new file, with a baseline of existing cycles beside it')
    .action(async ({ output: file }: { readonly output?: string }, command: Command) => {
      const { get, output } = await contextOf(command)
      const answer = await get<InferAnswer>('/api/v1/rules/infer', {}, SOURCE_ANSWER_MS)
      if (file !== undefined) await writeProposal(file, answer)
      output.result(answer, () => (file === undefined ? rulesText(answer) : `${file}: ${answer.note}`))
    })
}

async function checkRules(flags: RulesFlags, command: Command): Promise<void> {
  if (flags.freeze === true && flags.prune === true)
    throw fault('BAD_REQUEST', '--freeze and --prune cannot be combined')
  const { baselineFileOf, findRulesFile, readBaseline, readRules } = await import('../read-rules.ts')
  const root = projectOf(command)
  const file = findRulesFile(root, flags.rules)
  const rules = readRules(file)
  const writes = flags.freeze === true || flags.prune === true
  const baseline = flags.freeze === true ? '' : readBaseline(file, flags.baseline)
  const context = await contextOf(command)
  const answer = await askRules(context, {
    rules,
    baseline,
    includeFrozen: flags.all === true || flags.prune === true || flags.format === 'sarif',
  })
  const baselineFile = flags.baseline ?? baselineFileOf(file)
  if (writes) await writeBaseline(baselineFile, answer, flags.freeze === true)
  const shown = flags.freeze === true ? frozen(answer, baselineFile) : answer
  if (flags.format === 'sarif') {
    const { rulesSarif } = await import('../rules-sarif.ts')
    process.stdout.write(rulesSarif(root, rules.rules, answer.violations))
  } else context.output.result(shown, () => rulesTable(shown))
  if (shown.errorCount > 0) throw new ExitStatus(1)
}

/** Returns the answer of a check with the baseline that was just written. */
function frozen(answer: RulesAnswer, file: string): RulesAnswer {
  return {
    ...answer,
    violations: [],
    rules: answer.rules.map((each) => ({ ...each, newCount: 0, frozenCount: each.newCount })),
    errorCount: 0,
    newCount: 0,
    frozenCount: answer.totalCount,
    note: `${counted(answer.totalCount, 'violation')} written to ${file}`,
  }
}

/** Sends as many requests as the pages of the answer. */
async function askRules({ post }: CliContext, body: object): Promise<RulesAnswer> {
  const ask = (page: number) =>
    post<RulesAnswer>('/api/v1/rules', { ...body, page, size: PAGE_SIZE }, SOURCE_ANSWER_MS)
  const first = await ask(0)
  const violations = [...first.violations]
  for (let page = 1; page < first.totalPages; page++) violations.push(...(await ask(page)).violations)
  return { ...first, violations }
}

/** Writes all violations to a baseline, or only those that it already has. */
async function writeBaseline(file: string, { violations }: RulesAnswer, isAll: boolean): Promise<void> {
  const { baselineText, MAX_BASELINE_BYTES } = await import('../../../query/rules/baseline.ts')
  const keys = violations.filter(({ isFrozen }) => isAll || isFrozen).map(({ key }) => key)
  const text = baselineText(keys)
  if (Buffer.byteLength(text) > MAX_BASELINE_BYTES)
    throw fault('BAD_REQUEST', `${keys.length} violations are too many for a baseline; narrow the rules`)
  writeFileSync(file, text)
}

async function writeProposal(file: string, answer: InferAnswer): Promise<void> {
  const [{ baselineFileOf }, { baselineText }] = await Promise.all([
    import('../read-rules.ts'),
    import('../../../query/rules/baseline.ts'),
  ])
  const baseline = baselineFileOf(file)
  for (const each of [file, baseline])
    if (existsSync(each))
      throw fault('BAD_REQUEST', `${each} already exists; delete it or choose another name`)
  writeFileSync(file, `${rulesText(answer)}\n`)
  if (answer.baseline.length > 0) writeFileSync(baseline, baselineText(answer.baseline))
}

function rulesText({ rules, note }: InferAnswer): string {
  const head = `# Architecture rules, proposed by "analyzer rules infer": ${note}.\n`
  return `${head}${yaml().stringify(rules, { lineWidth: 100 })}`.trimEnd()
}

function rulesTable({ violations, rules, notes, note }: RulesAnswer): string {
  const lines = violations.map(rowOf)
  const found = lines.length === 0 ? [] : [formatTable(['Rule', 'Severity', 'Where', 'Violation'], lines), '']
  const reasons = rules
    .filter(({ newCount }) => newCount > 0)
    .map(({ id, newCount }) => {
      const reason = violations.find(({ ruleId }) => ruleId === id)?.reason ?? ''
      return `${id}: ${counted(newCount, 'new violation')}. ${reason}`
    })
  return [...found, ...reasons, ...(reasons.length === 0 ? [] : ['']), ...notes, note].join('\n')
}

function rowOf({
  ruleId,
  severity,
  sourceFile,
  classFqn,
  lineNumber,
  message,
  isFrozen,
}: Violation): string[] {
  const place = sourceFile ?? classFqn
  const where = lineNumber === null ? place : `${place}:${lineNumber}`
  return [ruleId, isFrozen ? 'frozen' : severity, where, message]
}
