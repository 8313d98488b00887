import { Fault } from '../../lib/errors/fault.ts'
import type { Backend } from '../backend/backend.ts'
import type { Workspace } from '../workspace.ts'
import type { BackendName } from '../backend-name.ts'
import type { WorkspaceTable } from './table.ts'

/**
 * Returns a running workspace and its backend.
 *
 * @throws WORKSPACE_NOT_FOUND when there is none
 * @throws WORKSPACE_NOT_RUNNING when it is not running, with kind `conflict` for sessions and `unavailable`
 * for tunnels, as the wire format requires
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
