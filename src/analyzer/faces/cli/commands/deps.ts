import { CYCLE_MEMBERS, DEPENDENCY_FINDINGS, GRAPH_FORMATS } from '../../../choices.ts'
import { writeFileSync } from 'node:fs'
import { type Command, Option } from 'commander'
import { positiveNumber } from '../../../../lib/cli/arguments.ts'
import { counted } from '../../../../lib/cli/counted.ts'
import { examples } from '../../../../lib/cli/examples.ts'
import { ExitStatus } from '../../../../lib/cli/run.ts'
import { formatTable } from '../../../../lib/cli/table.ts'
import type { checkDependencies } from '../../../query/declared/check-dependencies.ts'
import type { dependencyCycles } from '../../../query/graph/cycles.ts'
import type { foundationClasses, graphView } from '../../../query/graph/graph.ts'
import type { GraphFormat } from '../../../query/graph/graph-formats.ts'
import { addProjectOption, contextOf, pageLine } from '../context.ts'
import { SOURCE_ANSWER_MS } from '../server-client.ts'
import { addPageOptions } from './classes.ts'

interface GraphFlags {
  readonly format?: GraphFormat
  readonly output?: string
}

interface CheckFlags {
  readonly of?: string
  readonly page?: number
  readonly size?: number
}

type CheckAnswer = Awaited<ReturnType<typeof checkDependencies>>

/** Exit status if the build tool did not report what is declared, as for other failures of the server. */
const UNKNOWN = 4

/** Adds the commands deps, deps graph, deps foundation, deps cycles and deps check. */
export function addDeps(program: Command): void {
  const deps = addGraphOptions(program.command('deps'))
    .description('show dependencies between the classes of the project')
    .addHelpText('after', examples('analyzer deps --format html --output graph.html'))
    .action(printGraph)
  addGraphOptions(deps.command('graph'))
    .description('print the dependency graph')
    .addHelpText('after', examples('analyzer deps graph --format dot | dot -Tsvg > graph.svg'))
    .action(printGraph)

  addProjectOption(deps.command('foundation'))
    .description('list the classes with most dependents')
    .addHelpText('after', examples('analyzer deps foundation --min-dependents 10'))
    .option('--min-dependents <n>', 'minimum number of dependents', positiveNumber, 2)
    .action(async ({ minDependents }: { minDependents: number }, command: Command) => {
      const { get, output } = await contextOf(command)
      const answer = await get<ReturnType<typeof foundationClasses>>('/api/v1/graph/foundation', {
        minDependents,
      })
      output.result(answer, () =>
        formatTable(
          ['Class', 'Dependents'],
          answer.foundationClasses.map(({ fqn, dependentCount }) => [fqn, String(dependentCount)]),
        ),
      )
    })

  addProjectOption(deps.command('cycles'))
    .description('find dependency cycles between classes or packages')
    .addHelpText('after', examples('analyzer deps cycles --of package'))
    .addOption(
      new Option('--of <what>', 'find cycles of classes or of packages')
        .choices(CYCLE_MEMBERS)
        .default('class'),
    )
    .action(async ({ of }: { of: string }, command: Command) => {
      const { get, output } = await contextOf(command)
      const answer = await get<ReturnType<typeof dependencyCycles>>('/api/v1/graph/cycles', { of })
      output.result(answer, () =>
        answer.count === 0
          ? 'no cycles'
          : answer.cycles.map(({ size, members }) => [`${size}:`, ...members].join('\n  ')).join('\n'),
      )
    })

  addPageOptions(addProjectOption(deps.command('check')))
    .description('list dependencies that are unused or undeclared; exit with 1 if any has no explanation')
    .addHelpText('after', examples('analyzer deps check', 'analyzer deps check --of undeclared'))
    .addOption(new Option('--of <what>', 'list only unused or undeclared ones').choices(DEPENDENCY_FINDINGS))
    .action(async ({ of, page, size }: CheckFlags, command: Command) => {
      const { get, output } = await contextOf(command)
      const parameters = { of, page, size }
      const answer = await get<CheckAnswer>('/api/v1/graph/declared', parameters, SOURCE_ANSWER_MS)
      output.result(answer, () => checkTable(answer))
      if (answer.problem !== null) throw new ExitStatus(UNKNOWN)
      if (answer.unexplainedCount > 0) throw new ExitStatus(1)
    })
}

function checkTable(answer: CheckAnswer): string {
  const { dependencies, problem, notes, unusedCount, undeclaredCount, unexplainedCount, moduleCount } = answer
  if (problem !== null) return `unknown: ${problem}`
  const rows = dependencies.map((each) => [each.module, each.kind, each.coordinates, each.scope, whyOf(each)])
  const modules = counted(moduleCount, 'module')
  const summary = `${unusedCount} unused and ${undeclaredCount} undeclared in ${modules}, ${unexplainedCount} without explanation`
  const table = formatTable(['Module', 'Kind', 'Dependency', 'Scope', 'Why'], rows)
  return [...(rows.length > 0 ? [table, '', pageLine(answer)] : []), ...notes, summary].join('\n')
}

function whyOf({ broughtBy, classes, classCount, reasons }: CheckAnswer['dependencies'][number]): string {
  const [first] = classes
  const more = classCount > 1 ? ` and ${classCount - 1} more` : ''
  const used = first === undefined ? [] : [`brought by ${broughtBy}, used by ${first}${more}`]
  return [...used, ...reasons].join('; ') || '-'
}

function addGraphOptions(command: Command): Command {
  return addProjectOption(command)
    .addOption(
      // No commander default here: the default of "deps" would override the value given to "deps graph".
      new Option('-f, --format <format>', 'output format; default json').choices(GRAPH_FORMATS),
    )
    .option('-o, --output <file>', 'write to a file instead of standard output')
}

/** Prints a graph unformatted, even on a terminal, because it is meant for other programs. */
async function printGraph(_flags: GraphFlags, command: Command): Promise<void> {
  const { format = 'json', output: file }: GraphFlags = { ...command.optsWithGlobals(), ...command.opts() }
  const { get } = await contextOf(command)
  const graph = await get<ReturnType<typeof graphView> | string>('/api/v1/graph', { format })
  const text = typeof graph === 'string' ? graph : JSON.stringify(graph, null, 2)
  if (file === undefined) process.stdout.write(`${text}\n`)
  else writeFileSync(file, `${text}\n`)
}
