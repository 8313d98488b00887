import { ignore } from '../../lib/errors/ignore.ts'
import type { Backend } from '../backend/backend.ts'
import type { BackendName } from '../backend-name.ts'
import { fault } from '../errors.ts'
import { nameKey, parseWorkspaceName } from '../name.ts'
import type { SettingsStore } from '../settings/settings-store.ts'
import type { Timeline } from '../timeline/timeline.ts'
import type { Workspace } from '../workspace.ts'
import { getBackend } from './get-backend.ts'
import type { Lifecycle } from './lifecycle.ts'
import type { WorkspaceTable } from './table.ts'

/** Dependencies of a Renamer. */
export interface RenamerOptions {
  readonly table: WorkspaceTable
  readonly backends: ReadonlyMap<BackendName, Backend>
  readonly lifecycle: Pick<Lifecycle, 'whileIdle'>
  readonly settings: SettingsStore
  readonly timeline: Timeline
}

/** Renames stopped workspaces while nothing else changes those of either name. */
export class Renamer {
  readonly #options: RenamerOptions

  constructor(options: RenamerOptions) {
    this.#options = options
  }

  /**
   * Renames a stopped workspace.
   *
   * @throws RENAME_UNSUPPORTED when its backend cannot
   * @throws WORKSPACE_NOT_STOPPED unless it is stopped
   * @throws WORKSPACE_ALREADY_EXISTS when the new name is taken
   */
  async rename(nameInput: unknown, toInput: unknown): Promise<Workspace> {
    const { lifecycle } = this.#options
    const [name, to] = [parseWorkspaceName(nameInput), parseWorkspaceName(toInput)]
    // In a fixed order, so that two renames never wait for each other.
    const [first = '', second] = [...new Set([nameKey(name), nameKey(to)])].toSorted()
    const work = (): Promise<Workspace> => this.#rename(name, to)
    const renamed = await lifecycle.whileIdle(first, () =>
      second === undefined ? work() : lifecycle.whileIdle(second, work),
    )
    if (renamed === undefined)
      throw fault('WORKSPACE_BUSY', `workspace "${name}" or "${to}" is still being created`)
    return renamed
  }

  /** Requires the locks of both names. */
  async #rename(name: string, to: string): Promise<Workspace> {
    const { table, backends, settings, timeline } = this.#options
    const workspace = table.get(name)
    const { state } = workspace
    const backend = getBackend(backends, workspace.backend)
    if (backend.rename === undefined)
      throw fault(
        'RENAME_UNSUPPORTED',
        `${backend.name} workspaces cannot be renamed, because their engine cannot rename a volume; export "${name}" and import it as "${to}"`,
      )
    if (state.is !== 'stopped')
      throw fault('WORKSPACE_NOT_STOPPED', `workspace "${name}" is ${state.is}; stop it before renaming it`)
    const isSameKey = nameKey(name) === nameKey(to)
    // From here on, no creation can take the name.
    if (!isSameKey) table.reserve({ ...workspace, name: to, state: { is: 'starting' } })
    try {
      await settings.copy(workspace, to)
      const renamed = await backend.rename(workspace.name, to)
      const why = `a client renamed it from "${workspace.name}"`
      if (isSameKey) timeline.note(to, why)
      else {
        await settings.remove(name).catch(ignore('those that stay do not apply to a later workspace'))
        table.remove(name)
        timeline.because(to, why)
      }
      return table.set(renamed)
    } catch (error) {
      if (!isSameKey) await this.#giveUp(backend, workspace, to)
      throw error
    }
  }

  /** Shows what a failed rename has left: the backend decides which name the workspace has. */
  async #giveUp(backend: Backend, before: Workspace, to: string): Promise<void> {
    const { table } = this.#options
    const renamed = await backend.find(to).catch(ignore('the cause is reported'))
    if (renamed === undefined) return table.remove(to)
    table.remove(before.name)
    table.set(renamed)
  }
}
