import type { Backend, ExecProcess } from '../backend/backend.ts'
import { fault } from '../errors.ts'
import { listTmuxSessions } from '../session/tmux.ts'

/** What a terminal is opened for. */
export interface TerminalRequest {
  /** The tmux session to attach to, made if there is none of this name; undefined for a login shell. */
  readonly session: string | undefined
  readonly columns: number
  readonly rows: number
}

/** tmux expands what it is given as a name, down to running programs (threat W6): names of new sessions are plain. */
const PLAIN_NAME = /^[A-Za-z0-9][A-Za-z0-9_-]{0,63}$/

/** Starts a login shell or tmux at a terminal inside a running workspace. @throws INVALID_REQUEST for a session's name */
export async function openTerminal(
  backend: Backend,
  workspaceName: string,
  { session, columns, rows }: TerminalRequest,
): Promise<ExecProcess> {
  const login = await backend.loginEnvironment(workspaceName)
  return backend.exec(workspaceName, {
    argv: session === undefined ? [login.shell, '-l'] : await tmuxArguments(backend, workspaceName, session),
    environment: {
      USER: login.user,
      LOGNAME: login.user,
      HOME: login.home,
      SHELL: login.shell,
      TERM: 'xterm-256color',
      COLORTERM: 'truecolor',
      LANG: 'C.UTF-8',
    },
    terminal: { columns, rows },
  })
}

async function tmuxArguments(
  backend: Backend,
  workspaceName: string,
  name: string,
): Promise<readonly string[]> {
  const sessions = await listTmuxSessions(backend, workspaceName)
  const known = sessions.find((each) => each.name === name)
  if (known !== undefined) return ['tmux', '-u', 'attach-session', '-t', known.id]
  // `-A`: somebody may make it at the same time.
  if (PLAIN_NAME.test(name)) return ['tmux', '-u', 'new-session', '-A', '-s', name]
  const shown = JSON.stringify(name.slice(0, 80))
  throw fault(
    'INVALID_REQUEST',
    `there is no tmux session ${shown}, and a new one is called by letters, digits, "_" and "-", at most 64`,
  )
}
