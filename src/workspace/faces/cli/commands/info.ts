import type { Command } from 'commander'
import { formatRecord, formatTable } from '../../../../lib/cli/table.ts'
import { askAllServers } from '../ask-all.ts'
import { addAllOption, addServerOption, contextOf, outputOf } from '../context.ts'

type Info = Readonly<Record<string, string | number | readonly string[]>>

/** What the server says of itself. */
export function addInfo(program: Command): void {
  addAllOption(addServerOption(program.command('info')))
    .description('show name, version, ports and backends of the server')
    .action(async (options: { all?: boolean }, command: Command) => {
      if (options.all === true) return infoOfAll(command)
      const { client, output } = await contextOf(command)
      const info = await client.get<Info>('/api/info')
      output.result(info, () => formatRecord(Object.entries(info).map(([key, value]) => [key, shown(value)])))
    })
}

/** Offline servers are part of the answer, and no failure of the command. */
async function infoOfAll(command: Command): Promise<void> {
  const answers = await askAllServers<Info>('/api/info')
  const servers = answers.map((each) =>
    'answer' in each
      ? { server_name: each.serverName, info: each.answer }
      : { server_name: each.serverName, error: each.error },
  )
  outputOf(command).result({ servers }, () =>
    formatTable(
      ['SERVER', 'NAME', 'VERSION', 'SSH', 'BACKENDS'],
      servers.map(({ server_name: server, info, error }) =>
        info === undefined
          ? [server, '–', 'offline', '–', error ?? '']
          : [server, ...['name', 'version', 'ssh_port', 'enabled_backends'].map((key) => shown(info[key]))],
      ),
    ),
  )
}

function shown(value: Info[string] | undefined): string {
  if (value === undefined) return ''
  return typeof value === 'object' ? value.join(', ') || 'none' : String(value)
}
