import type { Clock } from '../../lib/clock/clock.ts'
import { fault } from '../errors.ts'
import { parseWorkspaceName } from '../name.ts'
import { changedSettings, type SettingsInput, type WorkspaceSettings } from '../workspace-settings.ts'
import type { SettingsStore } from '../settings/settings-store.ts'
import type { Timeline } from '../timeline/timeline.ts'
import type { Ownership } from '../ownership.ts'
import type { Workspace } from '../workspace.ts'
import type { Lifecycle } from './lifecycle.ts'
import type { WorkspaceTable } from './table.ts'

/** Dependencies of a SettingsEditor. */
export interface SettingsEditorOptions {
  readonly table: WorkspaceTable
  readonly lifecycle: Pick<Lifecycle, 'whileIdle'>
  readonly settings: SettingsStore
  readonly timeline: Timeline
  readonly clock: Clock
}

/** Changes the settings of existing workspaces, one operation per name at a time. */
export class SettingsEditor {
  readonly #options: SettingsEditorOptions

  constructor(options: SettingsEditorOptions) {
    this.#options = options
  }

  /**
   * Changes settings in any state of the workspace. Damaged ones are replaced, starting from those of its creation.
   *
   * @throws INVALID_REQUEST for values that are not valid
   * @throws WORKSPACE_BUSY while it is being created
   */
  async change(nameInput: unknown, input: SettingsInput): Promise<Workspace> {
    const { clock } = this.#options
    return this.#replace(nameInput, 'a client changed its settings', (workspace) =>
      changedSettings(workspace, input, new Date(clock.wallMs())),
    )
  }

  /** Changes to whom a workspace belongs and with whom it is shared. */
  async share(nameInput: unknown, edit: (before: Ownership | undefined) => Ownership): Promise<Workspace> {
    return this.#replace(nameInput, 'a client changed who may access it', (workspace) => ({
      ...workspace,
      ownership: edit(workspace.ownership),
    }))
  }

  /** Removes an expiry that has taken effect, unless it has been changed since. */
  async endExpiry({ name, expiry }: Workspace): Promise<void> {
    await this.#replace(name, 'its expiry has taken effect', (now) =>
      now.expiry?.at.getTime() === expiry?.at.getTime() ? { ...now, expiry: undefined } : now,
    )
  }

  async #replace(
    nameInput: unknown,
    note: string,
    replacement: (workspace: Workspace) => WorkspaceSettings,
  ): Promise<Workspace> {
    const { table, lifecycle, settings, timeline } = this.#options
    const name = parseWorkspaceName(nameInput)
    const changed = await lifecycle.whileIdle(name, async () => {
      const workspace = table.get(name)
      await settings.write(workspace, replacement(workspace))
      timeline.note(workspace.name, note)
      return table.set(workspace)
    })
    if (changed === undefined) throw fault('WORKSPACE_BUSY', `workspace "${name}" is still being created`)
    return changed
  }
}
