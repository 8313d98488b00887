import type { Backend, ExecProcess } from '../backend/backend.ts'
import { loginVariables } from '../backend/login-environment.ts'
import { fault } from '../errors.ts'
import { listTmuxSessions } from '../session/tmux.ts'

/** Parameters of a terminal. */
export interface TerminalRequest {
  /** The tmux session to attach to, created if missing; undefined for a login shell. */
  readonly session: string | undefined
  readonly columns: number
  readonly rows: number
}

/**
 * tmux expands names and can even run programs from them (threat W6), so names of new sessions are
 * restricted.
 */
const PLAIN_NAME = /^[A-Za-z0-9][A-Za-z0-9_-]{0,63}$/

/**
 * Starts a login shell or tmux in a terminal inside a running workspace.
 *
 * @throws INVALID_REQUEST when the session name is not valid
 */
export async function openTerminal(
  backend: Backend,
  workspaceName: string,
  { session, columns, rows }: TerminalRequest,
): Promise<ExecProcess> {
  const login = await backend.loginEnvironment(workspaceName)
  return backend.exec(workspaceName, {
    argv: session === undefined ? [login.shell, '-l'] : await tmuxArguments(backend, workspaceName, session),
    environment: {
      ...loginVariables(login),
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
  const existing = sessions.find((each) => each.name === name)
  if (existing !== undefined) return ['tmux', '-u', 'attach-session', '-t', existing.id]
  // `-A`, because another client may create it concurrently.
  if (PLAIN_NAME.test(name)) return ['tmux', '-u', 'new-session', '-A', '-s', name]
  const shown = JSON.stringify(name.slice(0, 80))
  throw fault(
    'INVALID_REQUEST',
    `tmux session ${shown} not found; the name of a new session must be 1 to 64 letters, digits, "_" or "-", starting with a letter or digit`,
  )
}
