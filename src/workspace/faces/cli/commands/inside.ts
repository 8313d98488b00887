import type { Static } from 'typebox'
import type { Command } from 'commander'
import { wholeNumber } from '../../../../lib/cli/arguments.ts'
import { examples } from '../../../../lib/cli/examples.ts'
import { formatTable, printable } from '../../../../lib/cli/table.ts'
import type { logSchema, portsSchema } from '../../../api/inside.ts'
import { addServerOption, contextOf } from '../context.ts'

/** Adds the commands `ports` and `logs`. */
export function addInside(program: Command): void {
  addServerOption(program.command('ports'))
    .description('list TCP ports open inside a workspace')
    .argument('<name>', 'workspace')
    .addHelpText('after', examples('workspace ports demo'))
    .action(async (name: string, _options: unknown, command: Command) => {
      const { client, output } = await contextOf(command)
      const answer = await client.get<Static<typeof portsSchema>>(`${pathOf(name)}/ports`)
      output.result(answer, () => portsTable(answer))
    })

  addServerOption(program.command('logs'))
    .description("print the last lines of a container's log or a virtual machine's console")
    .argument('<name>', 'workspace')
    .option('-n, --lines <n>', 'number of lines, 1 to 1000 (default: 200)', wholeNumber)
    .addHelpText('after', examples('workspace logs demo -n 20'))
    .action(async (name: string, options: { lines?: number }, command: Command) => {
      const { client, output } = await contextOf(command)
      const query = options.lines === undefined ? '' : `?lines=${options.lines}`
      const answer = await client.get<Static<typeof logSchema>>(`${pathOf(name)}/logs${query}`)
      output.result(answer, () => answer.lines.map(printable).join('\n'))
    })
}

function portsTable({ ports }: Static<typeof portsSchema>): string {
  if (ports.length === 0) return 'no open ports'
  return formatTable(
    ['PORT', 'ADDRESS', 'PROCESS'],
    ports.map(({ port, address, process }) => [String(port), address, process ?? '']),
  )
}

function pathOf(name: string): string {
  return `/api/workspaces/${encodeURIComponent(name)}`
}
