import type { Backend } from '../backend/backend.ts'
import type { Workspace } from '../workspace.ts'
import type { CreationMarks } from './creation-marks.ts'
import type { WorkspaceTable } from './table.ts'

/**
 * Removes a workspace whose lock is held. A mark on disk makes the next start complete an interrupted
 * removal.
 */
export async function removeWorkspace(
  { table, marks }: { readonly table: WorkspaceTable; readonly marks: CreationMarks },
  backend: Backend,
  { name }: Workspace,
  keepVolume: boolean,
): Promise<void> {
  // Best effort, because deleting must work on a full disk.
  await marks.add({ name, backend: backend.name, keepVolume }).catch(() => undefined)
  try {
    await backend.remove(name, keepVolume)
    table.remove(name)
  } finally {
    // Also after a failure: the caller learns of it and must not find the workspace deleted later.
    await marks.remove(name)
  }
}
