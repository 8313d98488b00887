import type { ContainerInfo, ContainerInspectInfo } from 'dockerode'
import type { Workspace, WorkspaceState } from '../../../workspace.ts'
import {
  limitsFromWire,
  limitsToWire,
  type NetworkLimits,
  networkLimitsSchema,
} from '../../../network/narrow.ts'
import { fault } from '../../../errors.ts'
import { BUILD_REPOSITORY } from '../../../image-reference.ts'
import type { BackendCreate } from '../../backend.ts'
import { parseJson } from '../../../../lib/schema/parse-json.ts'
import { Type } from '../../../../lib/schema/type.ts'

/** Labels hold the entire state of a Docker workspace: the server's table is rebuilt from them. */
const LABEL = {
  schema: 'workspace.schema',
  serverId: 'workspace.server_id',
  name: 'workspace.name',
  repo: 'workspace.repo',
  localDir: 'workspace.local_dir',
  image: 'workspace.image_ref',
  createdAt: 'workspace.created_at',
  cpus: 'workspace.cpus',
  memoryMb: 'workspace.memory_mb',
  forwardPorts: 'workspace.forward_ports',
  network: 'workspace.network',
  labels: 'workspace.labels',
  wakes: 'workspace.wake',
  forkedFrom: 'workspace.forked_from',
} as const
const SCHEMA = '1'
const userLabelsSchema = Type.Record(Type.String(), Type.String())

/** Labels of an engine object. */
export type Labels = Readonly<Record<string, string>>

/** Returns the labels of a workspace's container and volume. */
export function labelsOf(serverId: string, request: BackendCreate): Labels {
  return {
    [LABEL.schema]: SCHEMA,
    [LABEL.serverId]: serverId,
    [LABEL.name]: request.name,
    [LABEL.repo]: request.repo,
    [LABEL.localDir]: request.localDir,
    [LABEL.image]: request.image,
    [LABEL.createdAt]: request.createdAt.toISOString(),
    [LABEL.cpus]: String(request.cpus),
    [LABEL.memoryMb]: String(request.memoryMb),
    [LABEL.forwardPorts]: request.forwardPorts.join(','),
    ...(request.networkLimits !== undefined && {
      [LABEL.network]: JSON.stringify(limitsToWire(request.networkLimits)),
    }),
    ...(request.labels !== undefined && { [LABEL.labels]: JSON.stringify(request.labels) }),
    ...(request.wakes !== undefined && { [LABEL.wakes]: String(request.wakes) }),
    ...(request.fork !== undefined && { [LABEL.forkedFrom]: request.fork.from }),
  }
}

/**
 * Returns labels that undo those of a workspace, for an image of its container: containers inherit the labels of their image,
 * and an empty one counts as absent.
 */
export function clearedLabels(): Labels {
  return Object.fromEntries(Object.values(LABEL).map((label) => [label, '']))
}

/** Returns the labels of objects that belong to a server but to no workspace. */
export function labelsOfServer(serverId: string): Labels {
  return { [LABEL.schema]: SCHEMA, [LABEL.serverId]: serverId }
}

/**
 * Returns the engine's name for a workspace's container and for its volume; the engine keeps the two apart.
 * Workspace names are case-insensitive and the engine's are not, so names are lower-cased there.
 */
export function engineName(workspace: string): string {
  return `ws-${workspace.toLowerCase()}`
}

/** Repository of the images of forks, which exist only in the engine. */
export const FORK_REPOSITORY = 'ws-fork'

/** On an image that a server built, that server. */
export const BUILD_SERVER = 'workspace.build_server'

/** Returns the image of a copy from which forks are created. */
export function forkImage(id: string): string {
  return `${FORK_REPOSITORY}:${id}`
}

/** Repository of a second name of the images of checkpoints, which marks them as complete. */
export const CHECKPOINT_REPOSITORY = 'ws-checkpoint'

/** Returns the second name of the image of a checkpoint. */
export function checkpointImage(id: string): string {
  return `${CHECKPOINT_REPOSITORY}:${id}`
}

/** Marks images, volumes and helpers of forks and checkpoints with the server that created them. */
export const COPY_SERVER = 'workspace.fork_server'

/** On the image and the volume of a checkpoint, the name of its workspace in lower case. */
export const CHECKPOINT_OF = 'workspace.checkpoint_of'

/** End of the name of a container that is about to replace a workspace's own; no workspace's name has it. */
export const REWOUND_SUFFIX = '_rewound'

/** Returns the engine's name for the container that is about to replace a workspace's own. */
export function rewoundName(workspace: string): string {
  return `${engineName(workspace)}${REWOUND_SUFFIX}`
}

/** Returns whether a container is about to replace a workspace's own. */
export function isRewound({ Names }: ContainerInfo): boolean {
  return Names.every((name) => name.endsWith(REWOUND_SUFFIX))
}

/** Returns when a container was last created, started or stopped. @throws BACKEND_ERROR when it no longer exists */
export function changedAtOf(name: string, report: ContainerInspectInfo | undefined): Date {
  if (report === undefined)
    throw fault('BACKEND_ERROR', `the container of workspace "${name}" no longer exists`)
  const { Created, State } = report
  // The engine reports year 1 as the end of a container that never ran.
  const times = [Created, State.StartedAt, State.FinishedAt].map((time) => Date.parse(time))
  return new Date(Math.max(...times.filter((time) => !Number.isNaN(time))))
}

/** Returns whether an image has the files of a workspace: nobody may create another workspace from it by its name. */
export function isCopyOfWorkspace(image: string): boolean {
  const [, repository] =
    /^(?:localhost\/|(?:(?:index\.)?docker\.io\/)?(?:library\/)?)([^/:@]+)/.exec(image) ?? []
  return [FORK_REPOSITORY, CHECKPOINT_REPOSITORY, BUILD_REPOSITORY].some((each) => each === repository)
}

/** Returns the volume of a copy, whose name no workspace's volume has. */
export function copyVolumeName(id: string): string {
  return `${FORK_REPOSITORY}_${id}`
}

/** Returns the engine filter that selects one server's objects. */
export function ownFilter(serverId: string): string[] {
  return [`${LABEL.serverId}=${serverId}`]
}

/** Returns whether an object with these labels belongs to this server. */
export function isOwn(labels: Labels | undefined, serverId: string): boolean {
  return labels?.[LABEL.serverId] === serverId
}

/** Returns the workspace name from an object's labels. */
export function workspaceNameOf(labels: Labels | undefined): string | undefined {
  return labels?.[LABEL.name]
}

/** Returns the network limits of a workspace. An unreadable label permits no network access. */
export function networkLimitsOf(labels: Labels): NetworkLimits | undefined {
  const text = labels[LABEL.network]
  if (text === undefined || text === '') return undefined
  try {
    const limits = parseJson(networkLimitsSchema, text)
    if (limits !== undefined) return limitsFromWire(limits)
  } catch {
    // The label contains invalid limits.
  }
  return { allowHostPorts: [], egress: 'none' }
}

/** Converts one row of the engine's container list to a workspace. */
export function workspaceFromRow(row: ContainerInfo): Workspace {
  const [network] = Object.values(row.NetworkSettings?.Networks ?? {})
  return fromLabels(row.Labels, row.Id, stateFromRow(row), network?.IPAddress ?? '')
}

/** Converts the engine's full report on a container to a workspace. */
export function workspaceFromInspect(report: ContainerInspectInfo): Workspace {
  const [network] = Object.values(report.NetworkSettings.Networks)
  return fromLabels(report.Config.Labels, report.Id, stateFromInspect(report.State), network?.IPAddress ?? '')
}

function fromLabels(
  labels: Labels,
  containerId: string,
  state: WorkspaceState,
  ipAddress: string,
): Workspace {
  return {
    name: labels[LABEL.name] ?? '',
    backend: 'docker',
    state,
    createdAt: new Date(labels[LABEL.createdAt] ?? 0),
    repo: labels[LABEL.repo] ?? '',
    localDir: labels[LABEL.localDir] ?? '',
    image: labels[LABEL.image] ?? '',
    containerId,
    pid: 0,
    rootfsPath: '',
    ipAddress: state.is === 'running' ? ipAddress : '',
    cpus: Number(labels[LABEL.cpus] ?? 0),
    memoryMb: Number(labels[LABEL.memoryMb] ?? 0),
    forwardPorts: (labels[LABEL.forwardPorts] ?? '').split(',').filter(Boolean).map(Number),
    networkLimits: networkLimitsOf(labels),
    labels: parseJson(userLabelsSchema, labels[LABEL.labels] ?? ''),
    wakes: parseJson(Type.Boolean(), labels[LABEL.wakes] ?? ''),
    forkedFrom: labels[LABEL.forkedFrom] || undefined,
  }
}

function stateFromRow(row: ContainerInfo): WorkspaceState {
  if (row.State === 'running') return { is: 'running' }
  const exitCode = Number(/^Exited \((\d+)\)/.exec(row.Status)?.[1] ?? 0)
  return row.State === 'exited' ? ended(exitCode) : otherState(row.State)
}

function stateFromInspect(state: ContainerInspectInfo['State']): WorkspaceState {
  if (state.Paused) return otherState('paused')
  if (state.Running) return { is: 'running' }
  // The engine sets OOMKilled as soon as any program was killed, and keeps it set after a later regular stop.
  if (state.OOMKilled && state.ExitCode === 137) {
    return { is: 'error', message: 'it was killed because it ran out of memory (memory_mb)' }
  }
  if (state.Status === 'exited') return ended(state.ExitCode)
  return otherState(state.Status)
}

/**
 * Interprets an exit code. The main process only waits: a signal ends it when the workspace is stopped, and
 * any other exit is an error.
 */
function ended(exitCode: number): WorkspaceState {
  const asked = exitCode === 0 || exitCode === 130 || exitCode === 137 || exitCode === 143
  return asked
    ? { is: 'stopped' }
    : { is: 'error', message: `its main process exited with status ${exitCode}` }
}

function otherState(status: string): WorkspaceState {
  switch (status) {
    case 'created':
      return { is: 'stopped' }
    case 'paused':
      return { is: 'error', message: 'its container is paused; unpause it, or stop the workspace' }
    default:
      return { is: 'error', message: `the engine reports its container as "${status}"` }
  }
}
