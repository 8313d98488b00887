import type { Backend } from '../backend/backend.ts'
import { fault } from '../errors.ts'
import type { Workspace } from '../workspace.ts'

/** Resets a stopped workspace, whose lock is held, to its image. */
export function resetWorkspace({ name, state }: Workspace, backend: Backend): Promise<Workspace> {
  if (state.is !== 'stopped')
    throw fault('WORKSPACE_NOT_STOPPED', `workspace "${name}" is ${state.is}; stop it before resetting it`)
  const why = `${backend.name} workspaces cannot be reset; delete the workspace and create it again`
  if (backend.reset === undefined) throw fault('INVALID_REQUEST', why)
  return backend.reset(name)
}
