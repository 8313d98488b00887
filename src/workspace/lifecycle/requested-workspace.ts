import type { Workspace, WorkspaceState } from '../workspace.ts'
import type { CreateRequest } from './create-request.ts'

/** Describes a workspace that the backend has not created yet, or of which only remains exist. */
export function requestedWorkspace(
  request: CreateRequest,
  createdAt: Date,
  state: WorkspaceState,
): Workspace {
  const { name, backend, image, localDir, cpus, memoryMb, repo, networkLimits, labels, wakes } = request
  const { idle, checkpoints, expiry, schedule, ownership, forkGroup } = request
  const backendFields = { containerId: '', ipAddress: '', pid: 0, rootfsPath: '' }
  return {
    name,
    backend,
    image,
    localDir,
    cpus,
    memoryMb,
    networkLimits,
    labels,
    wakes,
    idle,
    checkpoints,
    expiry,
    schedule,
    ownership,
    repo: repo?.url ?? '',
    forkedFrom: forkGroup?.source.name,
    forwardPorts: forkGroup?.source.forwardPorts ?? [],
    createdAt,
    state,
    ...backendFields,
  }
}
