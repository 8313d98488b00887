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
  // Best effort, because deleting must work on a full disk.
  await marks.add({ name, backend: backend.name, keepVolume }).catch(() => undefined)
  try {
    await backend.remove(name, keepVolume)
    // Settings that cannot be removed do not apply to a later workspace.
    await settings.remove(name).catch(() => undefined)
    table.remove(name)
  } finally {
    // Also after a failure: the caller learns of it and must not find the workspace deleted later.
    await marks.remove(name)
  }
}
