import { Fault } from '../../lib/errors/fault.ts'
import type { Backend } from '../backend/backend.ts'
import type { Workspace } from '../workspace.ts'
import type { BackendName } from '../backend-name.ts'
import type { WorkspaceTable } from './table.ts'

/**
 * A workspace that can be entered, and what runs it.
 *
 * @throws WORKSPACE_NOT_FOUND and WORKSPACE_NOT_RUNNING: for sessions of the kind `conflict`, for tunnels `unavailable`, as the wire format has it
 */
export function getRunning(
  table: WorkspaceTable,
  backends: ReadonlyMap<BackendName, Backend>,
  name: string,
  kind: 'conflict' | 'unavailable',
): { readonly workspace: Workspace; readonly backend: Backend } {
  const workspace = table.get(name)
  const backend = backends.get(workspace.backend)
  if (workspace.state.is === 'running' && backend !== undefined) return { workspace, backend }
  const message = `workspace "${workspace.name}" is ${workspace.state.is}, not running`
  throw new Fault('WORKSPACE_NOT_RUNNING', kind, message)
}
