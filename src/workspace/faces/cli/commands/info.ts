import type { Command } from 'commander'
import { examples } from '../../../../lib/cli/examples.ts'
import { formatRecord, formatTable } from '../../../../lib/cli/table.ts'
import { queryAllServers } from '../query-all-servers.ts'
import { addAllOption, addServerOption, contextOf, outputOf } from '../context.ts'

type Info = Readonly<Record<string, string | number | readonly string[]>>

/** Adds the command `info`. */
export function addInfo(program: Command): void {
  addAllOption(addServerOption(program.command('info')))
    .addHelpText('after', examples('workspace info', 'workspace info --all'))
    .description("show the server's name, version, ports and backends")
    .action(async (options: { all?: boolean }, command: Command) => {
      if (options.all === true) return infoOfAll(command)
      const { client, output } = await contextOf(command)
      const info = await client.get<Info>('/api/info')
      output.result(info, () => formatRecord(Object.entries(info).map(([key, value]) => [key, shown(value)])))
    })
}

/** Lists all servers. An offline server is part of the output; the command still succeeds. */
async function infoOfAll(command: Command): Promise<void> {
  const answers = await queryAllServers<Info>('/api/info')
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
