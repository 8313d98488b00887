import { messageOf } from '../../lib/errors/message.ts'
import type { Logger } from '../../lib/log/logger.ts'
import type { Backend } from '../backend/backend.ts'
import { fault } from '../errors.ts'
import { getRunning } from '../lifecycle/get-running.ts'
import { parseWorkspaceName } from '../name.ts'
import type { WorkspaceTable } from '../lifecycle/table.ts'
import type { Workspace } from '../workspace.ts'
import type { BackendName } from '../backend-name.ts'
import type { Session } from './session.ts'
import { killTmuxSession, listTmuxSessions } from './tmux.ts'

/** Timeout per workspace when many are queried. */
const ONE_WORKSPACE_MS = 3_000

/** The tmux sessions of running workspaces. */
export class SessionDirectory {
  readonly #table: WorkspaceTable
  readonly #backends: ReadonlyMap<BackendName, Backend>
  readonly #logger: Logger

  constructor(table: WorkspaceTable, backends: ReadonlyMap<BackendName, Backend>, logger: Logger) {
    this.#table = table
    this.#backends = backends
    this.#logger = logger
  }

  /**
   * Lists a workspace's sessions.
   *
   * @throws WORKSPACE_NOT_FOUND when there is none
   * @throws WORKSPACE_NOT_RUNNING when it is not running
   */
  async list(nameInput: unknown): Promise<readonly Session[]> {
    const { workspace, backend } = this.#getRunning(nameInput)
    return listTmuxSessions(backend, workspace.name)
  }

  /**
   * Lists the sessions of all running workspaces, queried concurrently. A workspace that fails or takes over
   * 3 s is omitted and logged.
   */
  async listAll(): Promise<readonly Session[]> {
    const running = this.#table.list().filter((workspace) => workspace.state.is === 'running')
    const lists = await Promise.all(running.map((workspace) => this.#listOrNone(workspace)))
    return lists.flat()
  }

  /**
   * Kills the session of exactly this name.
   *
   * @throws SESSION_NOT_FOUND when there is none
   * @throws like `list`
   */
  async kill(nameInput: unknown, sessionName: string): Promise<void> {
    const { workspace, backend } = this.#getRunning(nameInput)
    const sessions = await listTmuxSessions(backend, workspace.name)
    const session = sessions.find((each) => each.name === sessionName)
    if (session === undefined) {
      const shown = JSON.stringify(sessionName.slice(0, 80))
      throw fault('SESSION_NOT_FOUND', `workspace "${workspace.name}" has no tmux session ${shown}`)
    }
    await killTmuxSession(backend, session)
  }

  /**
   * Returns whether anybody is attached to one of a workspace's sessions.
   *
   * @throws like `list`, and when there is no answer in 3 s
   */
  async isAttached(nameInput: unknown): Promise<boolean> {
    return (await inTime(this.list(nameInput))).some((session) => session.isAttached)
  }

  async #listOrNone(workspace: Workspace): Promise<readonly Session[]> {
    try {
      return await inTime(this.list(workspace.name))
    } catch (error) {
      this.#logger.warn({ workspace: workspace.name, why: messageOf(error) }, 'listing sessions failed')
      return []
    }
  }

  #getRunning(nameInput: unknown): { workspace: Workspace; backend: Backend } {
    return getRunning(this.#table, this.#backends, parseWorkspaceName(nameInput), 'conflict')
  }
}

async function inTime<T>(work: Promise<T>): Promise<T> {
  const late = Promise.withResolvers<never>()
  const timer = setTimeout(() => late.reject(new Error('timed out')), ONE_WORKSPACE_MS)
  try {
    return await Promise.race([work, late.promise])
  } finally {
    clearTimeout(timer)
  }
}
