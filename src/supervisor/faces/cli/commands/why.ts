import type { Command } from 'commander'
import { examples } from '../../../../lib/cli/examples.ts'
import { formatRecord } from '../../../../lib/cli/table.ts'
import { explain } from '../../../api/explain.ts'
import type { WireWhy } from '../../../api/why.ts'
import { contextOf } from '../client.ts'
import { shownLine } from '../paint.ts'

/** Adds `why`, which explains the state of a process. */
export function addWhy(program: Command): void {
  program
    .command('why')
    .description('explain why a process is in its state, and what to do')
    .argument('<name>', 'name of a process')
    .addHelpText('after', examples('supervisor why web', 'supervisor why web --json'))
    .action(async (name: string, _options: unknown, command: Command) => {
      const { client, output } = await contextOf(command)
      const why = await client.get<WireWhy>(`/processes/${encodeURIComponent(name)}/why`)
      output.result(why, () => formatWhy(why, Date.now()))
    })
}

/** Formats an explanation as text for a terminal. */
export function formatWhy(why: WireWhy, nowMs: number): string {
  const { head, facts, output, advice } = explain(why, nowMs)
  const rows = facts.flatMap(({ label, lines }) =>
    lines.map((line, at) => [at === 0 ? label : '', line] as const),
  )
  const record = rows.length === 0 ? [] : ['', formatRecord(rows)]
  return [
    head,
    ...record,
    ...section('Last output', output.map(shownLine)),
    ...section('What to do', advice),
  ].join('\n')
}

function section(title: string, lines: readonly string[]): readonly string[] {
  return lines.length === 0 ? [] : ['', `${title}:`, ...lines.map((line) => `  ${line}`)]
}
