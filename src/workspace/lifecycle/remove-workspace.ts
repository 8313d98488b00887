import { ignore } from '../../lib/errors/ignore.ts'
import type { Backend } from '../backend/backend.ts'
import type { Workspace } from '../workspace.ts'
import type { CreationMarks } from './creation-marks.ts'
import type { SettingsStore } from '../settings/settings-store.ts'
import type { WorkspaceTable } from './table.ts'

/**
 * Removes a workspace whose lock is held. A mark on disk makes the next start complete an interrupted
 * removal.
 */
export async function removeWorkspace(
  parts: {
    readonly table: WorkspaceTable
    readonly marks: CreationMarks
    readonly settings: SettingsStore
  },
  backend: Backend,
  { name }: Workspace,
  keepVolume: boolean,
): Promise<void> {
  const { table, marks, settings } = parts
  await marks
    .add({ name, backend: backend.name, keepVolume })
    .catch(ignore('deleting must work on a full disk'))
  try {
    await backend.remove(name, keepVolume)
    await settings.remove(name).catch(ignore('those that stay do not apply to a later workspace'))
    table.remove(name)
  } finally {
    // Also after a failure: the caller learns of it and must not find the workspace deleted later.
    await marks.remove(name)
  }
}
