import type { Backend } from '../backend/backend.ts'
import { readProgram } from '../backend/read-program.ts'
import { fault } from '../errors.ts'
import type { Session } from './session.ts'

/** The name is last, because only it can contain a tab. */
const FORMAT = ['session_id', 'session_created', 'session_attached', 'session_windows', 'session_name']
  .map((variable) => `#{${variable}}`)
  .join('\t')

/** Errors of tmux when there is no session because there is no server. */
const NO_SERVER =
  /no server running on|error connecting to .*No such file or directory|server exited unexpectedly/

/** Lists the tmux sessions of a workspace's user, oldest first; none when tmux is not installed. */
export async function listTmuxSessions(backend: Backend, workspaceName: string): Promise<readonly Session[]> {
  const { status, stdout, stderr } = await tmux(backend, workspaceName, ['list-sessions', '-F', FORMAT])
  if (status === 0) return stdout.split('\n').flatMap((line) => parseSession(line, workspaceName) ?? [])
  if (NO_SERVER.test(stderr) || status === 126 || status === 127) return []
  throw fault(
    'BACKEND_ERROR',
    `tmux in workspace "${workspaceName}" failed: ${stderr.trim() || `status ${status}`}`,
  )
}

/** Kills one session. A session that has already ended is not an error. */
export async function killTmuxSession(backend: Backend, session: Session): Promise<void> {
  const { status, stderr } = await tmux(backend, session.workspaceName, ['kill-session', '-t', session.id])
  if (status === 0 || NO_SERVER.test(stderr) || stderr.includes("can't find session")) return
  throw fault('BACKEND_ERROR', `tmux could not kill session "${session.name}": ${stderr.trim()}`)
}

async function tmux(backend: Backend, workspaceName: string, argv: readonly string[]) {
  const process = await backend.exec(workspaceName, {
    // Without -u and the locale, tmux replaces non-ASCII letters in names.
    argv: ['tmux', '-u', ...argv],
    environment: { LC_ALL: 'C.UTF-8' },
    stdin: false,
  })
  return readProgram(process)
}

function parseSession(line: string, workspaceName: string): Session | undefined {
  const [id, created, attached, windows, ...name] = line.split('\t')
  if (id === undefined || !/^\$\d+$/.test(id)) return undefined
  return {
    id,
    name: name.join('\t'),
    workspaceName,
    createdAt: new Date(Number(created) * 1000),
    // tmux reports the number of attached terminals.
    isAttached: Number(attached) > 0,
    windowCount: Number(windows),
  }
}
