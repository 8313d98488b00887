import type { Command } from 'commander'
import { formatRecord } from '../../../../lib/cli/table.ts'
import { addServerOption, contextOf } from '../context.ts'

type Info = Readonly<Record<string, string | number | readonly string[]>>

/** What the server says of itself. */
export function addInfo(program: Command): void {
  addServerOption(program.command('info'))
    .description('show name, version, ports and backends of the server')
    .action(async (_options: unknown, command: Command) => {
      const { client, output } = await contextOf(command)
      const info = await client.get<Info>('/api/info')
      output.result(info, () =>
        formatRecord(
          Object.entries(info).map(([key, value]) => [
            key,
            Array.isArray(value) ? value.join(', ') || 'none' : String(value),
          ]),
        ),
      )
    })
}
