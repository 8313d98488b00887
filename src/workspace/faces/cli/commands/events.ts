import type { Command } from 'commander'
import { formatTable } from '../../../../lib/cli/table.ts'
import type { WireTimeline } from '../../../api/timeline.ts'
import type { WireChange, WireSnapshot } from '../../../api/event.ts'
import type { WireWorkspace } from '../../../api/workspace.ts'
import { addServerOption, contextOf } from '../context.ts'
import { exitOnSignal } from '../exit-on-signal.ts'
import { examples } from '../../../../lib/cli/examples.ts'

type FeedEvent = ({ readonly type: 'snapshot' } & WireSnapshot) | WireChange

/** Adds the command `events`, which prints workspace changes until it is interrupted or the server stops. */
export function addEvents(program: Command): void {
  addServerOption(program.command('events'))
    .description(
      "list all workspaces, then follow their changes; with a name, show that workspace's timeline",
    )
    .argument('[name]', 'workspace')
    .addHelpText(
      'after',
      examples(
        'workspace events | jq -r \'select(.type == "created").workspace.name\'',
        'workspace events demo',
      ),
    )
    .action(async (name: string | undefined, _options: unknown, command: Command) => {
      const { client, output } = await contextOf(command)
      if (name !== undefined) {
        const timeline = await client.get<WireTimeline>(
          `/api/workspaces/${encodeURIComponent(name)}/timeline`,
        )
        return output.result(timeline, () => timelineTable(timeline))
      }
      exitOnSignal()
      await client.follow('/api/events', (event, content) => {
        if (event === 'snapshot') {
          const snapshot: FeedEvent = { type: 'snapshot', ...(content as WireSnapshot) }
          output.line(snapshot, () => lines(snapshot))
        } else if (event === 'workspace') output.line(content, () => lines(content as WireChange))
      })
    })
}

function timelineTable({ entries }: WireTimeline): string {
  if (entries.length === 0) return 'nothing has happened yet'
  return formatTable(
    ['TIME', 'EVENT'],
    entries.map(({ at, text }) => [at, text]),
  )
}

function lines(event: FeedEvent): string {
  const time = new Date().toTimeString().slice(0, 8)
  const line = (...columns: readonly string[]): string => [time, event.type.padEnd(8), ...columns].join('  ')
  const described = ({ name, status, status_reason: why }: WireWorkspace): string =>
    line(name, why === undefined ? status : `${status}: ${why.reason}`)
  if (event.type === 'deleted') return line(event.name)
  if (event.type !== 'snapshot') return described(event.workspace)
  if (event.workspaces.length === 0) return line('no workspaces')
  return event.workspaces.map(described).join('\n')
}
