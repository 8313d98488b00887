import { isFault } from '../../../lib/errors/fault.ts'
import type { Backend, BackendAccess } from '../../backend/backend.ts'
import { fault } from '../../errors.ts'
import { parseWorkspaceName } from '../../name.ts'
import type { Entrance } from '../../lifecycle/entrance.ts'
import type { WorkspaceTable } from '../../lifecycle/table.ts'
import type { AccessControl, Principal } from '../../team/access-control.ts'
import type { Workspace } from '../../workspace.ts'
import type { Login } from './authenticate.ts'
import type { BackendName } from '../../backend-name.ts'

/** Reserved for the API's own use; it never resolves to a workspace. */
const RESERVED_USER = '_api'

/** A running workspace that a user may run programs in. */
export interface WorkspaceAccess {
  readonly backend: BackendAccess
  /** The workspace's name in its canonical spelling. */
  readonly name: string
}

/** Resolves a login to a running workspace, or throws a `Fault` whose message includes the remedy. */
export type WorkspaceResolver = (login: LoginName) => Promise<WorkspaceAccess>

/** Facts that a client proved: the user name, which is the workspace's, and the key. */
export type LoginName = Pick<Login, 'user' | 'fingerprint'>

/** Resolves a login to a running workspace, in a form that can be sent between processes. */
export type NameResolver = (
  login: LoginName,
) => Promise<{ readonly backend: BackendName; readonly name: string }>

/**
 * Creates a resolver that starts workspaces which connections start.
 *
 * The resolver throws WORKSPACE_NOT_FOUND, also for a workspace that the key's owner may not see, ACCESS_DENIED and
 * WORKSPACE_NOT_RUNNING, and when the start fails.
 */
export function workspaceResolver(
  table: WorkspaceTable,
  entrance: Pick<Entrance, 'wake'>,
  access: AccessControl,
): NameResolver {
  return async ({ user, fingerprint }) => {
    // At each program and forward, so that a key that was removed admits to nothing new.
    const principal = access.identifyKey(fingerprint)
    if (principal === undefined) throw fault('ACCESS_DENIED', 'this SSH key no longer belongs to a user')
    const found = findWorkspace({ get: (name) => lookUp(name, table, access, principal) }, user)
    const workspace = await entrance.wake(found)
    if (workspace.state.is !== 'running') throw notRunning(workspace)
    return { backend: workspace.backend, name: workspace.name }
  }
}

/** Creates a resolver for the process that holds the workspace table. */
export function createWorkspaceResolver(
  resolve: NameResolver,
  backends: ReadonlyMap<BackendName, Backend>,
): WorkspaceResolver {
  return async (login) => {
    const { backend: backendName, name } = await resolve(login)
    const backend = backends.get(backendName)
    if (backend === undefined)
      throw fault('BACKEND_UNAVAILABLE', `backend ${backendName} is not enabled on this server`)
    return { backend, name }
  }
}

function lookUp(name: string, table: WorkspaceTable, access: AccessControl, principal: Principal): Workspace {
  access.require(principal, name, 'use')
  return table.get(name)
}

function findWorkspace(table: Pick<WorkspaceTable, 'get'>, user: string): Workspace {
  if (user === RESERVED_USER)
    throw fault('WORKSPACE_NOT_FOUND', `"${RESERVED_USER}" is a reserved name, not a workspace`)
  try {
    return table.get(parseWorkspaceName(user))
  } catch (error) {
    if (!isFault(error) || error.code === 'ACCESS_DENIED') throw error
    throw fault('WORKSPACE_NOT_FOUND', `${error.message}; run "workspace list" to see the existing ones`)
  }
}

function notRunning({ name, state }: Workspace) {
  const remedy = state.is === 'starting' ? 'try again in a moment' : `start it with: workspace start ${name}`
  const why = state.is === 'error' ? `broken (${state.message})` : state.is
  return fault('WORKSPACE_NOT_RUNNING', `workspace "${name}" is ${why}; ${remedy}`)
}
