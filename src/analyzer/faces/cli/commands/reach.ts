import { type Command, Option } from 'commander'
import { examples } from '../../../../lib/cli/examples.ts'
import { ExitStatus } from '../../../../lib/cli/run.ts'
import { formatTable } from '../../../../lib/cli/table.ts'
import { counted } from '../../../../lib/cli/counted.ts'
import { isFault } from '../../../../lib/errors/fault.ts'
import { ANALYSES } from '../../../choices.ts'
import { fault } from '../../../errors.ts'
import type { deadOf, DeadClassView } from '../../../query/reach/dead.ts'
import type { reachOf, TargetView } from '../../../query/reach/reach.ts'
import {
  addLibrariesOption,
  addProjectOption,
  type CliContext,
  contextOf,
  pageLine,
  projectOf,
} from '../context.ts'
import { reachSarif } from '../reach-sarif.ts'
import { readTargets } from '../read-targets.ts'
import { SOURCE_ANSWER_MS } from '../server-client.ts'
import { addPageOptions } from './classes.ts'

/** A request's URL has to fit into the headers that a server accepts. */
const MAX_REQUEST_LENGTH = 6_000

interface ReachFlags {
  readonly from?: readonly string[]
  readonly to?: readonly string[]
  readonly toFile?: readonly string[]
  readonly osv?: readonly string[]
  readonly analysis?: string
  readonly includeLibraries?: boolean
  readonly format?: 'sarif'
}

interface DeadFlags {
  readonly from?: readonly string[]
  readonly analysis?: string
  readonly page?: number
  readonly size?: number
}

type ReachAnswer = Awaited<ReturnType<typeof reachOf>>
type DeadAnswer = Awaited<ReturnType<typeof deadOf>>

/** Adds the commands reach and dead. */
export function addReach(program: Command): void {
  addRootOptions(addLibrariesOption(addProjectOption(program.command('reach'))))
    .description('find which classes or methods entry points reach; exit with 1 if there are any')
    .addHelpText(
      'after',
      examples(
        'analyzer reach --to shop.Legacy',
        'analyzer reach --from main --osv GHSA-1.json --format sarif -L',
      ),
    )
    .option('--to <targets...>', 'classes or owner#method')
    .option('--to-file <file...>', 'files with one class or owner#method per line')
    .option('--osv <file...>', 'OSV records with the methods of vulnerabilities')
    .addOption(
      new Option('--format <format>', 'print a report for a CI service instead of the result').choices([
        'sarif',
      ]),
    )
    .action(async (flags: ReachFlags, command: Command) => {
      const { names, ids, skipped } = readTargets(flags)
      for (const line of skipped) process.stderr.write(`analyzer: ${line}\n`)
      const context = await contextOf(command)
      const answer = await namingRoots(() => askReach(context, names, flags))
      if (flags.format === 'sarif') process.stdout.write(reachSarif(projectOf(command), answer.targets, ids))
      else context.output.result(answer, () => reachTable(answer))
      if (answer.reachableCount > 0) throw new ExitStatus(1)
    })

  addRootOptions(addPageOptions(addProjectOption(program.command('dead'))))
    .description('list code that entry points do not reach; exit with 1 if there is any')
    .addHelpText('after', examples('analyzer dead', 'analyzer dead --from main public'))
    .action(async (flags: DeadFlags, command: Command) => {
      const { get, output } = await contextOf(command)
      const { analysis, page, size } = flags
      const parameters = { from: flags.from?.join(','), analysis, page, size }
      const answer = await namingRoots(() => get<DeadAnswer>('/api/v1/dead', parameters, SOURCE_ANSWER_MS))
      output.result(answer, () => deadTable(answer))
      if (answer.totalCount > 0) throw new ExitStatus(1)
    })
}

/** Adds the options for entry points and calls. */
export function addRootOptions(command: Command): Command {
  return command
    .option(
      '--from <roots...>',
      'where to start: auto for all entry points (default), a kind of them, public, a class or owner#method',
    )
    .addOption(
      new Option(
        '--analysis <analysis>',
        'overrides that a call reaches: of created classes, or all',
      ).choices(ANALYSES),
    )
}

/** An unknown root is an invalid argument: exit status 1 means that something was found. */
export async function namingRoots<T>(ask: () => Promise<T>): Promise<T> {
  try {
    return await ask()
  } catch (error) {
    if (isFault(error) && error.code === 'CLASS_NOT_FOUND') throw fault('BAD_REQUEST', error.message)
    throw error
  }
}

/** Asks about any number of targets, with as many requests as their names need. */
async function askReach(
  { get }: CliContext,
  names: readonly string[],
  flags: ReachFlags,
): Promise<ReachAnswer> {
  const { from, analysis, includeLibraries } = flags
  const answers: ReachAnswer[] = []
  for (const to of parts(names)) {
    const parameters = { from: from?.join(','), to, analysis, includeLibraries }
    answers.push(await get<ReachAnswer>('/api/v1/reach', parameters, SOURCE_ANSWER_MS))
  }
  const [first] = answers
  if (first === undefined) throw fault('BAD_REQUEST', 'no targets: name them with --to, --to-file or --osv')
  return {
    ...first,
    targets: answers.flatMap(({ targets }) => targets),
    reachableCount: answers.reduce((sum, { reachableCount }) => sum + reachableCount, 0),
  }
}

function parts(names: readonly string[]): readonly string[] {
  const found: string[] = []
  for (const name of names) {
    const last = found.at(-1)
    if (last === undefined || last.length + name.length > MAX_REQUEST_LENGTH) found.push(name)
    else found[found.length - 1] = `${last},${name}`
  }
  return found
}

function reachTable({ targets, reachableCount, note }: ReachAnswer): string {
  const summary = `${reachableCount} of ${counted(targets.length, 'target')} reachable; ${note}`
  const rows = targets.map((target) => [target.target, target.status, whyOf(target)])
  const paths = targets.flatMap(({ target, root, steps }) => [
    ...(root === null ? [] : ['', `${target} from ${root.kind}: ${root.classFqn}, ${root.reason}`]),
    ...steps.map(
      ({ classFqn, methodName, lineNumber, calleeFqn, calleeName, reason }) =>
        `  ${classFqn}#${methodName}${lineNumber === null ? '' : `:${lineNumber}`} → ${calleeFqn}#${calleeName}  ${reason}`,
    ),
  ])
  return [formatTable(['Target', 'Status', 'Why'], rows), ...paths, '', summary].join('\n')
}

function whyOf({ root, steps, note }: TargetView): string {
  return root === null ? (note ?? '-') : `${counted(steps.length, 'step')} from ${root.kind}`
}

function deadTable(answer: DeadAnswer): string {
  const rows = answer.classes.flatMap((each) => deadRows(each))
  if (rows.length === 0) return answer.note
  return `${formatTable(['Class', 'Member', 'Line', 'Why'], rows)}\n\n${pageLine(answer)}  ${answer.note}`
}

function deadRows({ classFqn, isDead, reason, members }: DeadClassView): string[][] {
  if (isDead) return [[classFqn, 'whole class', '-', reason ?? '-']]
  return members.map((member) => [
    classFqn,
    member.kind === 'field' ? member.name : member.name + member.descriptor,
    member.lineNumber === null ? '-' : String(member.lineNumber),
    member.reason,
  ])
}
