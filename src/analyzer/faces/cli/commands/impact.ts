import { type Command, Option } from 'commander'
import { examples } from '../../../../lib/cli/examples.ts'
import { ExitStatus } from '../../../../lib/cli/run.ts'
import { formatTable, printable } from '../../../../lib/cli/table.ts'
import { IMPACT_ROWS } from '../../../choices.ts'
import { fault } from '../../../errors.ts'
import type { AffectedView, Changed, impactOf } from '../../../query/impact/impact.ts'
import { askSince } from '../ask-since.ts'
import {
  addLibrariesOption,
  addProjectOption,
  type CliContext,
  contextOf,
  pageLine,
  projectOf,
} from '../context.ts'
import { SOURCE_ANSWER_MS } from '../server-client.ts'
import { gradleTests, mavenTests, TEST_TOOLS } from '../test-selection.ts'
import { addPageOptions } from './classes.ts'
import { addRootOptions, namingRoots } from './reach.ts'

/** The newest classes of a multi-release jar count. */
const NEWEST_RELEASE = 99

interface ImpactFlags {
  readonly since?: string
  readonly against?: readonly string[]
  readonly from?: readonly string[]
  readonly analysis?: string
  readonly includeLibraries?: boolean
  readonly of?: string
  readonly tests?: (typeof TEST_TOOLS)[number]
  readonly page?: number
  readonly size?: number
}

type ImpactAnswer = Awaited<ReturnType<typeof impactOf>>

/** Adds the command impact. */
export function addImpact(program: Command): void {
  addRootOptions(addPageOptions(addLibrariesOption(addProjectOption(program.command('impact')))))
    .description('find what can notice changes: entry points, tests and methods; exit with 1 if any can')
    .addHelpText(
      'after',
      examples('analyzer impact --since main', 'mvn test $(analyzer impact --against ../old --tests maven)'),
    )
    .option('--since <revision>', 'compare source files with a git revision')
    .option('--against <builds...>', 'compare classes with jars or folders of an older build')
    .addOption(
      new Option('--of <what>', 'list entry points and tests, or methods')
        .choices(IMPACT_ROWS)
        .default('entry'),
    )
    .addOption(
      new Option(
        '--tests <tool>',
        'print the arguments with which a build tool runs only affected tests',
      ).choices(TEST_TOOLS),
    )
    .action(async (flags: ImpactFlags, command: Command) => {
      if ((flags.since === undefined) === (flags.against === undefined))
        throw fault('BAD_REQUEST', 'name the older version with either --since or --against')
      const context = await contextOf(command)
      const root = projectOf(command)
      const answer =
        flags.since === undefined
          ? await ask(context, flags, {
              classes: await changedClasses(context, flags.against ?? []),
              files: [],
            })
          : await askSince(root, flags.since, (files) => ask(context, flags, { classes: [], files }))
      for (const path of answer.unknownFiles)
        process.stderr.write(`analyzer: no classes of ${JSON.stringify(path)} are known; build the project\n`)
      if (flags.tests !== undefined) {
        const { text, problems } =
          flags.tests === 'gradle'
            ? gradleTests(answer.selection, root, await classFoldersOf(context))
            : { text: mavenTests(answer.selection), problems: [] }
        for (const problem of problems) process.stderr.write(`analyzer: ${printable(problem)}\n`)
        process.stdout.write(`${text}\n`)
        return
      }
      context.output.result(answer, () => impactTable(answer))
      if (answer.totalCount > 0) throw new ExitStatus(1)
    })
}

/** Compares the project's classes with an older build. */
async function changedClasses(context: CliContext, against: readonly string[]): Promise<Changed['classes']> {
  const classFolders = await classFoldersOf(context)
  if (classFolders.length === 0)
    throw fault('NO_CLASSES', 'the project has no classes to compare; compile it and run "analyzer refresh"')
  const { compareMembersConfined } = await import('../../../diff/compare-confined.ts')
  const { classes, problems } = await compareMembersConfined({
    old: against,
    new: classFolders,
    release: NEWEST_RELEASE,
  })
  for (const problem of problems)
    process.stderr.write(`analyzer: could not be read: ${JSON.stringify(problem)}\n`)
  return classes
}

async function classFoldersOf({ get }: CliContext): Promise<readonly string[]> {
  return (await get<{ classFolders: readonly string[] }>('/api/v1/project')).classFolders
}

function ask({ post }: CliContext, flags: ImpactFlags, changed: Changed): Promise<ImpactAnswer> {
  const { from, analysis, includeLibraries, of, page, size } = flags
  const body = { ...changed, from: from?.join(','), analysis, includeLibraries, of, page, size }
  return namingRoots(() => post<ImpactAnswer>('/api/v1/impact', body, SOURCE_ANSWER_MS))
}

function impactTable(answer: ImpactAnswer): string {
  if (answer.affected.length === 0) return answer.note
  const rows = answer.affected.map((each) => [
    each.kind,
    each.classFqn,
    each.member,
    changeLabel(each.change),
    pathText(each),
  ])
  const table = formatTable(['Kind', 'Class', 'Member', 'Notices', 'Path'], rows)
  return `${table}\n\n${pageLine(answer)}  ${answer.note}`
}

function changeLabel({ classFqn, member, change }: AffectedView['change']): string {
  return `${change} ${member === null ? classFqn : `${classFqn}#${member}`}`
}

function pathText({ steps }: AffectedView): string {
  if (steps.length === 0) return 'changed itself'
  return steps
    .map(({ calleeFqn, calleeName, reason, via }) =>
      via === 'use' ? reason : `→ ${calleeFqn}#${calleeName} (${reason})`,
    )
    .join(' ')
}
