import type { Command } from 'commander'
import { formatRecord } from '../../../../lib/cli/table.ts'
import { addServerOption, contextOf } from '../context.ts'

interface Info {
  readonly enabled_backends: readonly string[]
  readonly [key: string]: unknown
}

/** What the server says of itself. */
export function addInfo(program: Command): void {
  addServerOption(program.command('info'))
    .description('show name, version, ports and backends of the server')
    .action(async (_options: unknown, command: Command) => {
      const { client, output } = await contextOf(command)
      const info = await client.get<Info>('/api/info')
      const backends = info.enabled_backends.join(', ') || 'none'
      output.result(info, () =>
        formatRecord(
          Object.entries({ ...info, enabled_backends: backends }).map(([key, value]) => [key, String(value)]),
        ),
      )
    })
}
