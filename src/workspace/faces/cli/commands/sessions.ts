import type { Command } from 'commander'
import { formatTable } from '../../../../lib/cli/table.ts'
import type { WireSession } from '../../../api/session.ts'
import { addServerOption, contextOf } from '../context.ts'
import { sshInto } from '../ssh-client.ts'
import { tmuxCommand } from '../tmux-command.ts'

/** sessions ls|attach|kill: the tmux sessions inside workspaces. */
export function addSessions(program: Command): void {
  const sessions = program.command('sessions').description('tmux sessions inside workspaces')

  addServerOption(sessions.command('ls', { isDefault: true }))
    .description('list the sessions of one workspace, or of all')
    .argument('[name]', 'workspace; all running ones when left out')
    .action(async (name: string | undefined, _options: unknown, command: Command) => {
      const { client, output } = await contextOf(command)
      const path =
        name === undefined ? '/api/sessions' : `/api/workspaces/${encodeURIComponent(name)}/sessions`
      const answer = await client.get<{ sessions: WireSession[] }>(path)
      output.result(answer, () => sessionsTable(answer.sessions))
    })

  addServerOption(sessions.command('attach'))
    .description('open a session, making it if it is not there')
    .argument('<name>', 'workspace')
    .argument('<session>', 'its name')
    .action(async (name: string, session: string, _options: unknown, command: Command) => {
      await sshInto(await contextOf(command), name, tmuxCommand(session), { options: ['-t'], forwards: true })
    })

  addServerOption(sessions.command('kill'))
    .description('end a session')
    .argument('<name>', 'workspace')
    .argument('<session>', 'its exact name')
    .action(async (name: string, session: string, _options: unknown, command: Command) => {
      const { client, output } = await contextOf(command)
      await client.delete(
        `/api/workspaces/${encodeURIComponent(name)}/sessions/${encodeURIComponent(session)}`,
      )
      output.result({ killed: session }, () => `session ${session} is ended`)
    })
}

function sessionsTable(sessions: readonly WireSession[]): string {
  if (sessions.length === 0) return 'no tmux sessions'
  return formatTable(
    ['WORKSPACE', 'SESSION', 'WINDOWS', 'ATTACHED', 'CREATED'],
    sessions.map((each) => [
      each.workspace_name,
      each.name,
      String(each.window_count),
      each.attached ? 'yes' : 'no',
      each.created_at,
    ]),
  )
}
