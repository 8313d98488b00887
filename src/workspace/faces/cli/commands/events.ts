import type { Command } from 'commander'
import type { WireChange, WireSnapshot } from '../../../api/event.ts'
import { addServerOption, contextOf } from '../context.ts'

type Told = ({ readonly type: 'snapshot' } & WireSnapshot) | WireChange

/** Prints what becomes of the workspaces until it is interrupted or the server ends. */
export function addEvents(program: Command): void {
  addServerOption(program.command('events'))
    .description('follow what becomes of the workspaces: those there are, then every change')
    .addHelpText(
      'after',
      '\nExample:\n  workspace events | jq -r \'select(.type == "created").workspace.name\'',
    )
    .action(async (_options: unknown, command: Command) => {
      const { client, output } = await contextOf(command)
      // Whoever reads what we print has read enough.
      process.stdout.on('error', () => process.exit(0))
      for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => process.exit(0))
      await client.follow('/api/events', (event, content) => {
        if (event === 'snapshot') {
          const told: Told = { type: 'snapshot', ...(content as WireSnapshot) }
          output.line(told, () => lines(told))
        } else if (event === 'workspace') output.line(content, () => lines(content as WireChange))
      })
    })
}

function lines(told: Told): string {
  const time = new Date().toTimeString().slice(0, 8)
  const line = (...words: readonly string[]): string => [time, told.type.padEnd(8), ...words].join('  ')
  if (told.type === 'deleted') return line(told.name)
  if (told.type !== 'snapshot') return line(told.workspace.name, told.workspace.status)
  if (told.workspaces.length === 0) return line('no workspaces')
  return told.workspaces.map(({ name, status }) => line(name, status)).join('\n')
}
