import { Type } from '../../lib/schema/type.ts'
import type { Static } from 'typebox'
import type { NetworkReach } from '../network/reach.ts'
import type { Workspace } from '../workspace.ts'

export const workspaceSchema = Type.Object(
  {
    name: Type.String(),
    status: Type.Enum(['running', 'stopped', 'starting', 'error']),
    created_at: Type.String({ format: 'date-time' }),
    repo: Type.String({ description: 'repository cloned at creation; empty when none was' }),
    backend: Type.String(),
    container_id: Type.String({ description: "the backend's identifier" }),
    ip_address: Type.Optional(Type.String()),
    cpus: Type.Optional(Type.Integer()),
    memory_mb: Type.Optional(Type.Integer()),
    pid: Type.Optional(Type.Integer()),
    rootfs_path: Type.Optional(Type.String()),
    local_dir: Type.Optional(Type.String()),
    image: Type.Optional(Type.String({ description: 'image it was made from' })),
    forward_ports: Type.Optional(
      Type.Array(Type.Integer(), { description: 'ports inside that its devcontainer.json wants forwarded' }),
    ),
    error_message: Type.Optional(Type.String({ description: 'why the status is error' })),
    network: Type.Optional(
      Type.Object(
        {
          isolated: Type.Boolean({
            description: 'whether this host and other workspaces are out of reach, but for allow_host_ports',
          }),
          allow_host_ports: Type.Array(Type.Integer()),
          egress: Type.Union([Type.String(), Type.Array(Type.String())], {
            description: 'what it reaches beyond this host: open, internet, none, or a list',
          }),
        },
        { description: 'what the workspace reaches; of one workspace alone' },
      ),
    ),
  },
  { $id: 'Workspace', additionalProperties: false },
)
export type WireWorkspace = Static<typeof workspaceSchema>

/** Returns a workspace with what it reaches. */
export function workspaceWithNetwork(workspace: Workspace, reach: NetworkReach): WireWorkspace {
  const { isIsolated, policy } = reach
  const { egress } = policy
  return {
    ...workspaceToWire(workspace),
    network: {
      isolated: isIsolated,
      allow_host_ports: [...policy.allowHostPorts],
      egress: typeof egress === 'string' ? egress : [...egress],
    },
  }
}

/** A workspace as clients see it; fields that would be empty or zero are left out. */
export function workspaceToWire(workspace: Workspace): WireWorkspace {
  const { state, ipAddress, cpus, memoryMb, pid, rootfsPath, localDir, image, forwardPorts } = workspace
  return {
    name: workspace.name,
    status: state.is,
    created_at: workspace.createdAt.toISOString(),
    repo: workspace.repo,
    backend: workspace.backend,
    container_id: workspace.containerId,
    ...(ipAddress !== '' && { ip_address: ipAddress }),
    ...(cpus > 0 && { cpus }),
    ...(memoryMb > 0 && { memory_mb: memoryMb }),
    ...(pid > 0 && { pid }),
    ...(rootfsPath !== '' && { rootfs_path: rootfsPath }),
    ...(localDir !== '' && { local_dir: localDir }),
    ...(image !== '' && { image }),
    ...(forwardPorts.length > 0 && { forward_ports: [...forwardPorts] }),
    ...(state.is === 'error' && { error_message: state.message }),
  }
}
