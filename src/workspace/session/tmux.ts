import { text } from 'node:stream/consumers'
import type { Backend } from '../backend/backend.ts'
import { fault } from '../errors.ts'
import type { Session } from './session.ts'

/** The name comes last, because it alone can hold a tab. */
const FORMAT = ['session_id', 'session_created', 'session_attached', 'session_windows', 'session_name']
  .map((variable) => `#{${variable}}`)
  .join('\t')

/** What tmux says when there is no session because there is no server. */
const NO_SERVER =
  /no server running on|error connecting to .*No such file or directory|server exited unexpectedly/

/** All tmux sessions of a workspace's user, oldest first; none where tmux is not installed. */
export async function listTmuxSessions(backend: Backend, workspaceName: string): Promise<readonly Session[]> {
  const { status, stdout, stderr } = await tmux(backend, workspaceName, ['list-sessions', '-F', FORMAT])
  if (status === 0) return stdout.split('\n').flatMap((line) => parseSession(line, workspaceName) ?? [])
  if (NO_SERVER.test(stderr) || status === 126 || status === 127) return []
  throw fault(
    'BACKEND_ERROR',
    `tmux in workspace "${workspaceName}" failed: ${stderr.trim() || `status ${status}`}`,
  )
}

/** Ends one session. One that has ended meanwhile is no error. */
export async function killTmuxSession(backend: Backend, session: Session): Promise<void> {
  const { status, stderr } = await tmux(backend, session.workspaceName, ['kill-session', '-t', session.id])
  if (status === 0 || NO_SERVER.test(stderr) || stderr.includes("can't find session")) return
  throw fault('BACKEND_ERROR', `tmux could not end session "${session.name}": ${stderr.trim()}`)
}

async function tmux(backend: Backend, workspaceName: string, words: readonly string[]) {
  const process = await backend.exec(workspaceName, {
    // -u and the locale: without them names come back with their letters replaced.
    argv: ['tmux', '-u', ...words],
    environment: { LC_ALL: 'C.UTF-8' },
    stdin: false,
  })
  const [stdout, stderr, { status }] = await Promise.all([
    text(process.stdout),
    text(process.stderr),
    process.exitStatus,
  ])
  // A missing program is told on standard output by the engine.
  return { stdout, stderr, status }
}

function parseSession(line: string, workspaceName: string): Session | undefined {
  const [id, created, attached, windows, ...name] = line.split('\t')
  if (id === undefined || !/^\$\d+$/.test(id)) return undefined
  return {
    id,
    name: name.join('\t'),
    workspaceName,
    createdAt: new Date(Number(created) * 1000),
    // tmux counts the terminals that are attached.
    isAttached: Number(attached) > 0,
    windowCount: Number(windows),
  }
}
