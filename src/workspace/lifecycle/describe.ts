import type { Workspace, WorkspaceState } from '../workspace.ts'
import type { CreateRequest } from './create-request.ts'

/** A workspace that the backend has not made yet, or of which only remains are left. */
export function describe(request: CreateRequest, createdAt: Date, state: WorkspaceState): Workspace {
  const { name, backend, image, localDir, cpus, memoryMb, repo, networkLimits } = request
  const backendFields = { containerId: '', ipAddress: '', pid: 0, rootfsPath: '', forwardPorts: [] }
  return {
    name,
    backend,
    image,
    localDir,
    cpus,
    memoryMb,
    networkLimits,
    repo: repo?.url ?? '',
    createdAt,
    state,
    ...backendFields,
  }
}
