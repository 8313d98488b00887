import type { Static } from 'typebox'
import type { Command } from 'commander'
import { wholeNumber } from '../../../../lib/cli/arguments.ts'
import { examples } from '../../../../lib/cli/examples.ts'
import { formatTable, printable } from '../../../../lib/cli/table.ts'
import type { logSchema, portsSchema, WireLogLine } from '../../../api/inside.ts'
import type { Output } from '../../../../lib/cli/output.ts'
import type { WorkspaceClient } from '../../../client/client.ts'
import { addServerOption, contextOf } from '../context.ts'
import { exitOnSignal } from '../exit-on-signal.ts'

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
    .option(
      '-f, --follow',
      'then print new lines until the container stops; elsewhere than on a terminal as JSON lines',
    )
    .addHelpText('after', examples('workspace logs demo -n 20', 'workspace logs demo -f'))
    .action(async (name: string, options: { lines?: number; follow?: boolean }, command: Command) => {
      const { client, output } = await contextOf(command)
      const query = options.lines === undefined ? '' : `?lines=${options.lines}`
      if (options.follow === true) return followLog(client, `${pathOf(name)}/logs${query}`, output)
      const answer = await client.get<Static<typeof logSchema>>(`${pathOf(name)}/logs${query}`)
      output.result(answer, () => answer.lines.map(printable).join('\n'))
    })
}

/** Prints lines until the stream's `end` event. */
async function followLog(client: WorkspaceClient, path: string, output: Output): Promise<void> {
  exitOnSignal()
  let isEnded = false
  const following = client.follow(path, (event, content) => {
    if (event === 'end') isEnded = true
    else if (event === 'line') output.line(content, () => (content as WireLogLine).line)
  })
  await following.catch((error: unknown) => {
    if (!isEnded) throw error
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
