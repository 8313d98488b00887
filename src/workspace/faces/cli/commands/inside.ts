import type { Static } from 'typebox'
import type { Command } from 'commander'
import { wholeNumber } from '../../../../lib/cli/arguments.ts'
import { formatTable, printable } from '../../../../lib/cli/table.ts'
import type { logSchema, portsSchema } from '../../../api/inside.ts'
import { addServerOption, contextOf } from '../context.ts'

/** ports, logs: what can be seen of the inside of a workspace. */
export function addInside(program: Command): void {
  addServerOption(program.command('ports'))
    .description('list TCP ports that something listens on in a workspace')
    .argument('<name>', 'workspace')
    .addHelpText('after', '\nExample:\n  workspace ports demo')
    .action(async (name: string, _options: unknown, command: Command) => {
      const { client, output } = await contextOf(command)
      const answer = await client.get<Static<typeof portsSchema>>(`${pathOf(name)}/ports`)
      output.result(answer, () => portsTable(answer))
    })

  addServerOption(program.command('logs'))
    .description("print the last lines of a container's log or a virtual machine's console")
    .argument('<name>', 'workspace')
    .option('-n, --lines <n>', 'how many lines, 1 to 1000; default 200', wholeNumber)
    .addHelpText('after', '\nExample:\n  workspace logs demo -n 20')
    .action(async (name: string, options: { lines?: number }, command: Command) => {
      const { client, output } = await contextOf(command)
      const query = options.lines === undefined ? '' : `?lines=${options.lines}`
      const answer = await client.get<Static<typeof logSchema>>(`${pathOf(name)}/logs${query}`)
      output.result(answer, () => answer.lines.map(printable).join('\n'))
    })
}

function portsTable({ ports }: Static<typeof portsSchema>): string {
  if (ports.length === 0) return 'nothing listens'
  return formatTable(
    ['PORT', 'ADDRESS', 'PROCESS'],
    ports.map(({ port, address, process }) => [String(port), address, process ?? '']),
  )
}

function pathOf(name: string): string {
  return `/api/workspaces/${encodeURIComponent(name)}`
}
