import { isFault } from '../../../lib/errors/fault.ts'
import type { Backend, BackendAccess } from '../../backend/backend.ts'
import { fault } from '../../errors.ts'
import { parseWorkspaceName } from '../../name.ts'
import type { WorkspaceTable } from '../../lifecycle/table.ts'
import type { Workspace } from '../../workspace.ts'
import type { BackendName } from '../../backend-name.ts'

/** Kept free for the API's own use; no workspace can be reached by it. */
const RESERVED_USER = '_api'

/** Where a user's programs run. */
export interface Entered {
  readonly backend: BackendAccess
  /** The workspace's own spelling of its name. */
  readonly name: string
}

/** Lets a user into the running workspace they named; throws a fault with a sentence that tells them what to do. */
export type Gate = (user: string) => Promise<Entered>

/** Which workspace a user may enter, told in a way that passes between processes. */
export function findEntry(
  table: WorkspaceTable,
  user: string,
): { readonly backend: BackendName; readonly name: string } {
  const workspace = findWorkspace(table, user)
  if (workspace.state.is !== 'running') throw notRunning(workspace)
  return { backend: workspace.backend, name: workspace.name }
}

/** A gate in the process that holds the table. */
export function createGate(table: WorkspaceTable, backends: ReadonlyMap<BackendName, Backend>): Gate {
  return async (user) => {
    const { backend: backendName, name } = findEntry(table, user)
    const backend = backends.get(backendName)
    if (backend === undefined)
      throw fault('BACKEND_UNAVAILABLE', `backend ${backendName} is not enabled here`)
    return { backend, name }
  }
}

function findWorkspace(table: WorkspaceTable, user: string): Workspace {
  if (user === RESERVED_USER)
    throw fault('WORKSPACE_NOT_FOUND', `"${RESERVED_USER}" is reserved and no workspace`)
  try {
    return table.get(parseWorkspaceName(user))
  } catch (error) {
    if (!isFault(error)) throw error
    throw fault('WORKSPACE_NOT_FOUND', `${error.message}; "workspace list" shows what there is`)
  }
}

function notRunning({ name, state }: Workspace) {
  const remedy = state.is === 'starting' ? 'try again in a moment' : `start it with: workspace start ${name}`
  const why = state.is === 'error' ? `broken (${state.message})` : state.is
  return fault('WORKSPACE_NOT_RUNNING', `workspace "${name}" is ${why}; ${remedy}`)
}
