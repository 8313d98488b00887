import { AGENT_PORT, POD_AGENT_KEYS } from '../../../lib/guest/protocol.ts'
import { nameKey } from '../../name.ts'
import { WORKSPACE_DIR } from '../../workspace.ts'
import type { AgentKeys } from './agent-keys.ts'
import { LABEL, labelsOf, objectName, RECORD_KEY } from './names.ts'
import type { WorkspaceRecord } from './record.ts'

/** Container of a pod in which the workspace's programs run. */
export const CONTAINER = 'workspace'
/** Key of the secret that the pod does not get. */
export const SERVER_KEY = 'server.key'
/** Policy label of pods without limits of their workspace. */
export const SHARED_POLICY = 'server'
const AGENT_DIR = '/opt/workspace'
/** Seconds after which what remains of a stopped workspace is killed. */
const STOP_GRACE_S = 10
/** Part of its CPU limit that a workspace reserves: most wait for their users, and a node is shared. */
const CPU_REQUEST = 0.1
/** Least memory that a workspace without a limit reserves, in MiB. */
const LEAST_MEMORY_MB = 128

/** Settings of every pod. */
export interface PodSettings {
  readonly serverId: string
  readonly agentImage: string
  readonly storageClass: string | undefined
  readonly runtimeClass: string | undefined
  readonly nodeSelector: Readonly<Record<string, string>>
}

/** A workspace whose objects are created. */
export interface Placed {
  readonly record: WorkspaceRecord
  readonly uid: string
}

/** Returns a workspace's ConfigMap, whose creation reserves the name. */
export function configMap(serverId: string, record: WorkspaceRecord) {
  return {
    apiVersion: 'v1',
    kind: 'ConfigMap',
    metadata: { name: objectName(record.name), labels: labelsOf(serverId, record.name) },
    data: dataOf(record),
  }
}

/** Returns the data of a workspace's ConfigMap. */
export function dataOf(record: WorkspaceRecord): Readonly<Record<string, string>> {
  return { [RECORD_KEY]: JSON.stringify(record) }
}

/** Returns a workspace's volume. It has no owner: deleting another object must never delete files. */
export function volumeClaim({ serverId, storageClass }: PodSettings, { record, uid }: Placed) {
  return {
    apiVersion: 'v1',
    kind: 'PersistentVolumeClaim',
    metadata: { name: objectName(record.name), labels: labelsOf(serverId, record.name, uid) },
    spec: {
      accessModes: ['ReadWriteOnce'],
      resources: { requests: { storage: String(record.diskBytes) } },
      ...(storageClass !== undefined && { storageClassName: storageClass }),
    },
  }
}

/** Returns the data of the secret with the keys of one start. */
export function secretData({ agent, server }: AgentKeys): Readonly<Record<string, string>> {
  return {
    [POD_AGENT_KEYS.certificate]: agent.certificate,
    [POD_AGENT_KEYS.key]: agent.key,
    [POD_AGENT_KEYS.client]: server.certificate,
    [SERVER_KEY]: server.key,
  }
}

/** Returns a workspace's secret. */
export function secret({ serverId }: PodSettings, { record, uid }: Placed, keys: AgentKeys) {
  const name = objectName(record.name)
  return {
    apiVersion: 'v1',
    kind: 'Secret',
    metadata: { name, labels: labelsOf(serverId, record.name, uid), ownerReferences: owner(name, uid) },
    stringData: secretData(keys),
  }
}

/** Returns a workspace's pod: the agent waits in it for the programs that the server starts. */
export function pod(settings: PodSettings, { record, uid }: Placed) {
  const { serverId, agentImage, runtimeClass, nodeSelector } = settings
  const name = objectName(record.name)
  const policy = record.network === undefined ? SHARED_POLICY : uid
  const agentMount = { name: 'agent', mountPath: AGENT_DIR }
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: {
      name,
      labels: { ...labelsOf(serverId, record.name, uid), [LABEL.policy]: policy },
      ownerReferences: owner(name, uid),
    },
    spec: {
      hostname: nameKey(record.name),
      restartPolicy: 'Always',
      terminationGracePeriodSeconds: STOP_GRACE_S,
      automountServiceAccountToken: false,
      enableServiceLinks: false,
      // The pod's first process reaps orphans, and programs cannot be mistaken for the agent.
      shareProcessNamespace: true,
      securityContext: { seccompProfile: { type: 'RuntimeDefault' } },
      ...(runtimeClass !== undefined && { runtimeClassName: runtimeClass }),
      ...(Object.keys(nodeSelector).length > 0 && { nodeSelector }),
      initContainers: [
        {
          name: 'agent',
          image: agentImage,
          command: [...nodeIn('/agent'), '-e', COPY_AGENT],
          volumeMounts: [{ ...agentMount, mountPath: '/target' }],
          securityContext: { allowPrivilegeEscalation: false, runAsUser: 0 },
          resources: resourcesOf(record),
        },
        {
          // The cluster does not report which user an image names, so a container of the image reports its own.
          name: 'user',
          image: record.image,
          command: [...nodeIn(AGENT_DIR), '-e', WRITE_USER],
          volumeMounts: [agentMount],
          securityContext: { allowPrivilegeEscalation: false },
          resources: resourcesOf(record),
        },
      ],
      containers: [
        {
          name: CONTAINER,
          image: record.image,
          command: [...nodeIn(AGENT_DIR), `${AGENT_DIR}/pod-agent.js`],
          workingDir: '/',
          env: Object.entries(record.environment).map(([key, value]) => ({
            name: key,
            // The cluster would replace references to other variables.
            value: value.replaceAll('$(', '$$$$('),
          })),
          ports: [{ name: 'agent', containerPort: AGENT_PORT }],
          readinessProbe: { tcpSocket: { port: AGENT_PORT }, periodSeconds: 10 },
          volumeMounts: [
            // Otherwise a program could replace what runs as root when the agent starts again.
            { ...agentMount, readOnly: true },
            { name: 'workspace', mountPath: WORKSPACE_DIR },
            { name: 'keys', mountPath: POD_AGENT_KEYS.directory, readOnly: true },
          ],
          // The agent starts programs as the image's user.
          securityContext: { runAsUser: 0, runAsGroup: 0 },
          resources: resourcesOf(record),
        },
      ],
      volumes: [
        { name: 'agent', emptyDir: {} },
        { name: 'workspace', persistentVolumeClaim: { claimName: name } },
        {
          name: 'keys',
          secret: {
            secretName: name,
            defaultMode: 0o400,
            items: [POD_AGENT_KEYS.certificate, POD_AGENT_KEYS.key, POD_AGENT_KEYS.client].map((key) => ({
              key,
              path: key,
            })),
          },
        },
      ],
    },
  }
}

const COPY_AGENT = `
const fs = require('node:fs')
fs.cpSync('/agent', '/target', { recursive: true, verbatimSymlinks: true })
fs.writeFileSync('/target/image.json', '')
fs.chmodSync('/target/image.json', 0o666)`

const WRITE_USER = `
require('node:fs').writeFileSync('${AGENT_DIR}/image.json', JSON.stringify({ user: String(process.getuid()) }))`

/** Runs Node.js with its own C library, because the image may have another. */
function nodeIn(directory: string): readonly string[] {
  return [`${directory}/lib/loader`, '--library-path', `${directory}/lib`, `${directory}/node`]
}

function resourcesOf({ cpus, memoryMb }: WorkspaceRecord) {
  return {
    requests: {
      cpu: `${Math.max(10, Math.round(cpus * 1_000 * CPU_REQUEST))}m`,
      memory: `${memoryMb > 0 ? memoryMb : LEAST_MEMORY_MB}Mi`,
    },
    limits: {
      ...(cpus > 0 && { cpu: String(cpus) }),
      ...(memoryMb > 0 && { memory: `${memoryMb}Mi` }),
    },
  }
}

/** Objects that go with the workspace's ConfigMap, should the server be killed while it deletes them. */
function owner(name: string, uid: string) {
  return [{ apiVersion: 'v1', kind: 'ConfigMap', name, uid }]
}
