import { execFileSync } from 'node:child_process'
import { randomBytes, randomUUID } from 'node:crypto'
import { join } from 'node:path'
import { afterAll, beforeAll } from 'vitest'
import { packageRoot } from '../../../src/lib/process/package.ts'
import { ApiClient } from '../../../src/workspace/backend/kubernetes/api/api-client.ts'
import { clusterAccess } from '../../../src/workspace/backend/kubernetes/api/cluster-access.ts'
import { anySchema } from '../../../src/workspace/backend/kubernetes/api/objects.ts'
import {
  KubernetesBackend,
  type KubernetesOptions,
} from '../../../src/workspace/backend/kubernetes/kubernetes-backend.ts'

/** The image from which the pods of tests get their agent. */
export const AGENT_IMAGE = 'workspace-agent:test'
/** Kubeconfig of the tests' cluster. */
export const KUBECONFIG = join(process.env['WORKSPACE_CLUSTER'] ?? '/var/tmp/workspace-cluster', 'admin.conf')

/** Runs scripts/cluster. */
export function runCluster(...argv: readonly string[]): void {
  execFileSync(join(packageRoot, 'scripts/cluster'), argv, { stdio: ['ignore', 'inherit', 'inherit'] })
}

/** Returns a client of the tests' cluster. */
async function clusterClient(): Promise<ApiClient> {
  return new ApiClient(await clusterAccess(KUBECONFIG))
}

/** Creates a namespace that enforces the Pod Security level documented for workspaces; `remove` deletes all in it. */
export async function makeNamespace(): Promise<{
  readonly name: string
  readonly remove: () => Promise<void>
}> {
  const client = await clusterClient()
  const name = `test-${randomBytes(4).toString('hex')}`
  const labels = { 'pod-security.kubernetes.io/enforce': 'baseline' }
  const body = { apiVersion: 'v1', kind: 'Namespace', metadata: { name, labels } }
  const { metadata } = await client.create(anySchema, '/api/v1/namespaces', body)
  const account = `/api/v1/namespaces/${name}/serviceaccounts/default`
  while ((await client.find(anySchema, account)) === undefined) await new Promise(setImmediate)
  return {
    name,
    async remove() {
      await client.delete(`/api/v1/namespaces/${name}`, metadata.uid)
      client.close()
    },
  }
}

/** Gives the tests of a file a namespace of the cluster and a client; both end with the file. */
export function clusterNamespace(): { readonly namespace: string; readonly client: ApiClient } {
  let made: Awaited<ReturnType<typeof makeNamespace>>
  let client: ApiClient
  beforeAll(async () => {
    made = await makeNamespace()
    client = await clusterClient()
  })
  afterAll(async () => {
    client.close()
    await made.remove()
  })
  return {
    get namespace() {
      return made.name
    },
    get client() {
      return client
    },
  }
}

/** Returns the options of a backend on the tests' cluster. */
export function clusterOptions(namespace: string): KubernetesOptions {
  return {
    namespace,
    serverId: randomUUID(),
    access: () => clusterAccess(KUBECONFIG),
    agentImage: AGENT_IMAGE,
    storageClass: undefined,
    runtimeClass: undefined,
    nodeSelector: {},
    policy: { allowHostPorts: [], egress: 'open' },
    networks: { cluster: [], server: [] },
    startTimeoutMs: 120_000,
    diskBytes: 2 ** 30,
  }
}

/** A backend on the tests' cluster with its own namespace, which is deleted when the backend is closed. */
export async function clusterBackend(options: Partial<KubernetesOptions> = {}): Promise<KubernetesBackend> {
  const namespace = await makeNamespace()
  const backend = new KubernetesBackend({ ...clusterOptions(namespace.name), ...options })
  const close = backend.close.bind(backend)
  backend.close = async () => {
    await close()
    await namespace.remove()
  }
  return backend
}
