import { Type } from '../../lib/schema/type.ts'
import type { Static } from 'typebox'
import { reachOf } from '../network/reach.ts'
import type { NextTimes } from '../schedule.ts'
import type { Explanation } from '../timeline/timeline.ts'
import type { Workspace } from '../workspace.ts'
import { settingsToWire, wireSettingsFields } from './settings.ts'
import { explanationSchema, explanationToWire } from './timeline.ts'

/** A workspace. */
export const workspaceSchema = Type.Object(
  {
    name: Type.String(),
    status: Type.Enum(['running', 'stopped', 'suspended', 'starting', 'error']),
    created_at: Type.String({ format: 'date-time' }),
    repo: Type.String({ description: 'repository cloned at creation; empty if none' }),
    backend: Type.String(),
    container_id: Type.String({ description: "the backend's identifier" }),
    ip_address: Type.Optional(Type.String()),
    cpus: Type.Optional(Type.Integer()),
    memory_mb: Type.Optional(Type.Integer()),
    pid: Type.Optional(Type.Integer()),
    rootfs_path: Type.Optional(Type.String()),
    local_dir: Type.Optional(Type.String()),
    image: Type.Optional(Type.String({ description: 'image it was created from' })),
    owner: Type.Optional(Type.String({ description: 'user that it belongs to, on a server with users' })),
    forked_from: Type.Optional(Type.String({ description: 'workspace that it was forked from' })),
    forward_ports: Type.Optional(
      Type.Array(Type.Integer(), { description: 'ports listed for forwarding in its devcontainer.json' }),
    ),
    warnings: Type.Optional(
      Type.Array(Type.String(), {
        description: 'what its creation ignored, such as entries of its devcontainer.json',
      }),
    ),
    ...wireSettingsFields,
    next_start: Type.Optional(
      Type.String({
        format: 'date-time',
        description: 'when its schedule next starts it; only when a single workspace is requested',
      }),
    ),
    next_stop: Type.Optional(Type.String({ format: 'date-time', description: 'when it next stops it' })),
    error_message: Type.Optional(Type.String({ description: 'why the status is error' })),
    status_reason: Type.Optional(explanationSchema),
    network: Type.Optional(
      Type.Object(
        {
          isolated: Type.Boolean({
            description: 'whether it cannot reach this host (except allow_host_ports) and other workspaces',
          }),
          allow_host_ports: Type.Array(Type.Integer()),
          egress: Type.Union([Type.String(), Type.Array(Type.String())], {
            description: 'destinations it can reach beyond this host: open, internet, none, or a list',
          }),
          egress_profile: Type.Optional(
            Type.String({ description: 'egress profile, whose proxy is its only way beyond this host' }),
          ),
        },
        { description: 'network access' },
      ),
    ),
  },
  { $id: 'Workspace', additionalProperties: false },
)
/** A workspace as clients see it. */
export type WireWorkspace = Static<typeof workspaceSchema>

/** Encodes a workspace; fields that are empty or zero are omitted. */
export type EncodeWorkspace = (workspace: Workspace) => WireWorkspace

/**
 * Returns the encoder of a server's workspaces.
 *
 * @param explain returns why a workspace is not running
 */
export function workspaceEncoder(
  config: Parameters<typeof reachOf>[1],
  explain: (workspace: Workspace) => Explanation | undefined,
): EncodeWorkspace {
  return (workspace) => {
    const { state, ipAddress, cpus, memoryMb, pid, rootfsPath, localDir, image, forwardPorts } = workspace
    const { forkedFrom, ownership, warnings } = workspace
    const explanation = explain(workspace)
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
      ...(ownership?.owner !== undefined && { owner: ownership.owner.name }),
      ...(forkedFrom !== undefined && { forked_from: forkedFrom }),
      ...(forwardPorts.length > 0 && { forward_ports: [...forwardPorts] }),
      ...(warnings !== undefined && { warnings: [...warnings] }),
      ...settingsToWire(workspace),
      ...(state.is === 'error' && { error_message: state.message }),
      ...(explanation !== undefined && { status_reason: explanationToWire(explanation) }),
      network: networkToWire(workspace, config),
    }
  }
}

function networkToWire(
  { backend, networkLimits }: Workspace,
  config: Parameters<typeof reachOf>[1],
): NonNullable<WireWorkspace['network']> {
  const { isIsolated, policy } = reachOf(backend, config, networkLimits)
  const { egress } = policy
  const egressProfile = networkLimits?.egressProfile
  return {
    isolated: isIsolated,
    allow_host_ports: [...policy.allowHostPorts],
    egress: typeof egress === 'string' ? egress : [...egress],
    ...(egressProfile !== undefined && { egress_profile: egressProfile }),
  }
}

/** Encodes the next times of a workspace's schedule. */
export function nextTimesToWire({
  startMs,
  stopMs,
}: NextTimes): Pick<WireWorkspace, 'next_start' | 'next_stop'> {
  return {
    ...(startMs !== undefined && { next_start: new Date(startMs).toISOString() }),
    ...(stopMs !== undefined && { next_stop: new Date(stopMs).toISOString() }),
  }
}
