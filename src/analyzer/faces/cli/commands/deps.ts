import { CYCLE_MEMBERS, GRAPH_FORMATS } from '../../../choices.ts'
import { writeFileSync } from 'node:fs'
import { type Command, Option } from 'commander'
import { wholeNumber } from '../../../../lib/cli/arguments.ts'
import { examples } from '../../../../lib/cli/examples.ts'
import { formatTable } from '../../../../lib/cli/table.ts'
import type { dependencyCycles } from '../../../query/graph/cycles.ts'
import type { foundationClasses, graphView } from '../../../query/graph/graph.ts'
import type { GraphFormat } from '../../../query/graph/graph-formats.ts'
import { addProjectOption, contextOf } from '../context.ts'

interface GraphFlags {
  readonly format?: GraphFormat
  readonly output?: string
}

/** Adds the commands deps, deps graph, deps foundation and deps cycles. */
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
    .option('--min-dependents <n>', 'minimum number of dependents', wholeNumber, 2)
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
