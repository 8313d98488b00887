import { CYCLE_MEMBERS, GRAPH_FORMATS } from '../../../choices.ts'
import { writeFileSync } from 'node:fs'
import { type Command, Option } from 'commander'
import { wholeNumber } from '../../../../lib/cli/arguments.ts'
import { formatTable } from '../../../../lib/cli/table.ts'
import type { dependencyCycles } from '../../../query/graph/cycles.ts'
import type { foundationClasses, graphView } from '../../../query/graph/graph.ts'
import type { GraphFormat } from '../../../query/graph/graph-formats.ts'
import { addProjectOption, contextOf } from '../context.ts'

interface GraphFlags {
  readonly format?: GraphFormat
  readonly output?: string
}

/** deps, deps graph, deps foundation, deps cycles. */
export function addDeps(program: Command): void {
  const deps = addGraphOptions(program.command('deps'))
    .description('what the classes of the project need of each other')
    .action(printGraph)
  addGraphOptions(deps.command('graph')).description('the whole graph').action(printGraph)

  addProjectOption(deps.command('foundation'))
    .description('the classes that most others need')
    .option('--min-dependents <n>', 'how many must need one', wholeNumber, 2)
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
    .description('classes or packages that all need each other')
    .addOption(
      new Option('--of <what>', 'what the cycles are made of').choices(CYCLE_MEMBERS).default('class'),
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
      // No default of commander's: that of "deps" would hide what is said to "deps graph".
      new Option('-f, --format <format>', 'how it is written; default json').choices(GRAPH_FORMATS),
    )
    .option('-o, --output <file>', 'write it there instead of printing it')
}

/** A graph is for other programs: it is printed as it is, on a terminal too. */
async function printGraph(_flags: GraphFlags, command: Command): Promise<void> {
  const { format = 'json', output: file }: GraphFlags = { ...command.optsWithGlobals(), ...command.opts() }
  const { get } = await contextOf(command)
  const graph = await get<ReturnType<typeof graphView> | string>('/api/v1/graph', { format })
  const text = typeof graph === 'string' ? graph : JSON.stringify(graph, null, 2)
  if (file === undefined) process.stdout.write(`${text}\n`)
  else writeFileSync(file, `${text}\n`)
}
