import type { Backend } from '../backend/backend.ts'
import type { Workspace } from '../workspace.ts'
import type { CreationMarks } from './creation-marks.ts'
import type { WorkspaceTable } from './table.ts'

/** Removes a workspace whose lock is held; a mark on disk has the next start finish what a crash cuts short. */
export async function removeWorkspace(
  { table, marks }: { readonly table: WorkspaceTable; readonly marks: CreationMarks },
  backend: Backend,
  { name }: Workspace,
  keepVolume: boolean,
): Promise<void> {
  // Best effort: what is asked for most on a full disk is to delete.
  await marks.add({ name, backend: backend.name, keepVolume }).catch(() => undefined)
  try {
    await backend.remove(name, keepVolume)
    table.remove(name)
  } finally {
    // Also after a failure: its caller is told, and must not find the workspace deleted later on.
    await marks.remove(name)
  }
}
