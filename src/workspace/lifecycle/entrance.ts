import type { Backend } from '../backend/backend.ts'
import type { BackendName } from '../backend-name.ts'
import { nameKey } from '../name.ts'
import type { Workspace } from '../workspace.ts'
import { getRunning } from './get-running.ts'
import type { Lifecycle } from './lifecycle.ts'
import type { WorkspaceTable } from './table.ts'

/** Dependencies of an Entrance. */
export interface EntranceOptions {
  readonly table: WorkspaceTable
  readonly backends: ReadonlyMap<BackendName, Backend>
  readonly lifecycle: Pick<Lifecycle, 'startIf'>
  /** Whether connections start workspaces created without that setting; undefined for those suspended when idle. */
  readonly wakesByDefault: boolean | undefined
}

/** Finds running workspaces for connections, and starts those that connections start. */
export class Entrance {
  readonly #options: EntranceOptions
  /** Starts in progress; connections that arrive meanwhile wait for them. */
  readonly #waking = new Map<string, Promise<unknown>>()

  constructor(options: EntranceOptions) {
    this.#options = options
  }

  /**
   * Returns a running workspace and its backend.
   *
   * @throws like `getRunning`, and when the start fails
   */
  async enter(name: string, kind: 'conflict' | 'unavailable'): Promise<ReturnType<typeof getRunning>> {
    const { table, backends } = this.#options
    await this.wake(table.get(name))
    return getRunning(table, backends, name, kind)
  }

  /** Starts a workspace that connections start, unless it is running. Returns it as it then is. */
  async wake(workspace: Workspace): Promise<Workspace> {
    const { table, lifecycle } = this.#options
    const { name } = workspace
    const key = nameKey(name)
    if (this.#wakes(workspace) && !this.#waking.has(key)) {
      const start = lifecycle.startIf(name, 'somebody connected to it', (now) => this.#wakes(now))
      this.#waking.set(
        key,
        start.finally(() => this.#waking.delete(key)),
      )
    }
    await this.#waking.get(key)
    return table.get(name)
  }

  #wakes({ state, wakes, idle }: Workspace): boolean {
    const isResting = state.is === 'stopped' || state.is === 'suspended'
    const isSuspendedWhenIdle = (idle?.suspendAfterMs ?? 0) > 0
    return isResting && (wakes ?? this.#options.wakesByDefault ?? isSuspendedWhenIdle)
  }
}
