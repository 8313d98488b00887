import type { Static } from 'typebox'
import { parseJson } from '../../../lib/schema/parse-json.ts'
import { Type } from '../../../lib/schema/type.ts'
import { limitsFromWire, limitsToWire, networkLimitsSchema } from '../../network/narrow.ts'
import type { Workspace, WorkspaceState } from '../../workspace.ts'
import type { BackendCreate } from '../backend.ts'
import type { ConfigMap, Pod } from './api/objects.ts'
import { LABEL, RECORD_KEY } from './names.ts'

const recordSchema = Type.Object({
  version: Type.Literal(1),
  name: Type.String({ minLength: 1 }),
  createdAt: Type.String(),
  image: Type.String(),
  repo: Type.String(),
  forwardPorts: Type.Array(Type.Integer()),
  environment: Type.Record(Type.String(), Type.String()),
  /** 0 for none. */
  cpus: Type.Integer({ minimum: 0 }),
  memoryMb: Type.Integer({ minimum: 0 }),
  diskBytes: Type.Integer({ minimum: 0 }),
  network: Type.Optional(networkLimitsSchema),
  labels: Type.Optional(Type.Record(Type.String(), Type.String())),
  wakes: Type.Optional(Type.Boolean()),
  /** Whether it should have a pod. */
  isWanted: Type.Boolean(),
  changedAt: Type.String(),
})

/** State of a workspace that outlives its pod: JSON in a ConfigMap. */
export type WorkspaceRecord = Static<typeof recordSchema>

/** Returns the record of a new workspace. */
export function newRecord(request: BackendCreate, diskBytes: number): WorkspaceRecord {
  const { name, image, repo, environment, cpus, memoryMb, networkLimits, labels, wakes } = request
  return {
    version: 1,
    name,
    createdAt: request.createdAt.toISOString(),
    image,
    repo,
    forwardPorts: [...request.forwardPorts],
    environment: { ...environment },
    cpus,
    memoryMb,
    diskBytes,
    ...(networkLimits !== undefined && { network: limitsToWire(networkLimits) }),
    ...(labels !== undefined && { labels: { ...labels } }),
    ...(wakes !== undefined && { wakes }),
    isWanted: true,
    changedAt: request.createdAt.toISOString(),
  }
}

/** Returns a workspace's record; undefined when it is unreadable. */
export function recordOf(map: ConfigMap): WorkspaceRecord | undefined {
  return parseJson(recordSchema, map.data?.[RECORD_KEY] ?? '')
}

/** Converts a workspace's record and pod. A workspace whose record is unreadable can only be deleted. */
export function workspaceOf(map: ConfigMap, pod: Pod | undefined, state: WorkspaceState): Workspace {
  const record = recordOf(map)
  const isRunning = record !== undefined && state.is === 'running'
  return {
    name: record?.name ?? map.metadata.labels?.[LABEL.name] ?? map.metadata.name,
    backend: 'kubernetes',
    state:
      record === undefined
        ? { is: 'error', message: `its ConfigMap ${map.metadata.name} is unreadable` }
        : state,
    createdAt: new Date(record?.createdAt ?? map.metadata.creationTimestamp ?? 0),
    repo: record?.repo ?? '',
    localDir: '',
    image: record?.image ?? '',
    containerId: map.metadata.uid,
    ipAddress: isRunning ? (pod?.status?.podIP ?? '') : '',
    pid: 0,
    rootfsPath: '',
    cpus: record?.cpus ?? 0,
    memoryMb: record?.memoryMb ?? 0,
    forwardPorts: record?.forwardPorts ?? [],
    networkLimits: limitsFromWire(record?.network),
    labels: record?.labels,
    wakes: record?.wakes,
  }
}
