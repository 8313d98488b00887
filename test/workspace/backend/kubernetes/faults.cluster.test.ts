import { connect as connectTls } from 'node:tls'
import { expect, onTestFinished, test } from 'vitest'
import { Type } from '../../../../src/lib/schema/type.ts'
import {
  anySchema,
  claimSchema,
  configMapSchema,
  metadataSchema,
  podSchema,
} from '../../../../src/workspace/backend/kubernetes/api/objects.ts'
import {
  KubernetesBackend,
  type KubernetesOptions,
} from '../../../../src/workspace/backend/kubernetes/kubernetes-backend.ts'
import { clusterNamespace, clusterOptions, runCluster } from '../../../support/cluster/cluster.ts'
import { makeBareImage } from '../../../support/cluster/bare-image.ts'
import { TEST_IMAGE, uniqueName } from '../../../support/engine/docker.ts'
import { backendCreate } from '../../../support/workspace/backend/backend-create.ts'
import { outputOf, sh } from '../../../support/workspace/backend/backends.ts'

const policySchema = Type.Object({
  metadata: metadataSchema,
  spec: Type.Object({
    podSelector: Type.Object({ matchLabels: Type.Record(Type.String(), Type.String()) }),
    policyTypes: Type.Array(Type.String()),
    egress: Type.Optional(Type.Array(Type.Object({}))),
  }),
})

const cluster = clusterNamespace()

const at = (kind: string, name = '') =>
  `/api/v1/namespaces/${cluster.namespace}/${kind}${name === '' ? '' : `/ws-${name}`}`

async function open(options: Partial<KubernetesOptions> = {}): Promise<KubernetesBackend> {
  const backend = new KubernetesBackend({ ...clusterOptions(cluster.namespace), ...options })
  await backend.open(() => undefined)
  onTestFinished(() => backend.close())
  return backend
}

function create(
  backend: KubernetesBackend,
  name: string,
  more: Parameters<typeof backendCreate>[2] = {},
  progress: (message: string) => void = () => undefined,
) {
  onTestFinished(() => backend.remove(name, false).catch(() => undefined))
  const request = backendCreate(name, TEST_IMAGE, { createdAt: new Date(), ...more })
  return backend.create(request, progress, new AbortController().signal)
}

/** Returns the names of all objects of a workspace. */
async function objectsOf(name: string): Promise<readonly string[]> {
  const paths = ['configmaps', 'pods', 'secrets', 'persistentvolumeclaims'].map((kind) => at(kind, name))
  const found = await Promise.all(paths.map((path) => cluster.client.find(anySchema, path)))
  return paths.filter((_, i) => found[i] !== undefined && found[i].metadata.deletionTimestamp === undefined)
}

test('a missing image ends the creation with its reason, and removal leaves nothing', async () => {
  const backend = await open()
  const name = uniqueName('missing')
  const image = '127.0.0.1:9/missing:1'
  await expect(create(backend, name, { image })).rejects.toMatchObject({
    code: 'BACKEND_ERROR',
    message: expect.stringMatching(/container user waits \(ImagePullBackOff\).*127\.0\.0\.1:9\/missing/),
  })
  await backend.remove(name, false)
  expect(await objectsOf(name)).toEqual([])
})

test('a volume that stays unbound ends the creation with the reason', async () => {
  const backend = await open({ storageClass: 'nonexistent', startTimeoutMs: 3_000 })
  await expect(create(backend, uniqueName('pending'))).rejects.toMatchObject({
    message: expect.stringMatching(/kubernetes\.start_timeout.*storageclass.*"nonexistent" not found/),
  })
})

test('a creation continues when the API server is killed in the middle', async () => {
  const backend = await open()
  const name = uniqueName('killed')
  let isKilled = false
  const workspace = await create(backend, name, {}, () => {
    if (!isKilled) runCluster('kill', 'apiserver')
    if (!isKilled) runCluster('up')
    isKilled = true
  })
  expect(isKilled).toBe(true)
  expect(workspace).toMatchObject({ state: { is: 'running' } })
  expect(await outputOf(backend, name, sh('echo works'))).toMatchObject({ stdout: 'works\n', status: 0 })
})

test('a program runs on while the API server does not', async () => {
  const backend = await open()
  const name = uniqueName('independent')
  await create(backend, name)
  const process = await backend.exec(name, { argv: ['cat'] })
  runCluster('kill', 'apiserver')
  onTestFinished(() => runCluster('up'))
  process.stdin.end('through')
  expect((await process.stdout.toArray()).join('')).toBe('through')
})

test('a pod that another client deletes leaves a workspace in error, which can be started', async () => {
  const changes: string[] = []
  const backend = new KubernetesBackend(clusterOptions(cluster.namespace))
  await backend.open((change) => changes.push('name' in change ? change.name : change.is))
  onTestFinished(() => backend.close())
  const name = uniqueName('evicted')
  await create(backend, name)
  await outputOf(backend, name, sh('echo kept >/workspace/file'))
  const pod = await cluster.client.find(podSchema, at('pods', name))
  changes.length = 0
  await cluster.client.delete(at('pods', name), pod?.metadata.uid ?? '', 0)
  await expect.poll(() => changes).toContain(name)
  await expect
    .poll(() => backend.find(name))
    .toMatchObject({ state: { is: 'error', message: expect.stringContaining('its pod was deleted') } })
  expect(await backend.start(name)).toMatchObject({ state: { is: 'running' } })
  expect(await outputOf(backend, name, sh('cat /workspace/file'))).toMatchObject({ stdout: 'kept\n' })
})

test('an agent that is killed starts again, and the workspace with it', async () => {
  const backend = await open()
  const name = uniqueName('agent')
  await create(backend, name)
  const restarts = async () =>
    (await cluster.client.find(podSchema, at('pods', name)))?.status?.containerStatuses?.[0]?.restartCount
  const killing = outputOf(backend, name, sh('kill -KILL $(pgrep -f pod-agent.js)', '0'))
  await killing.catch(() => undefined)
  await expect.poll(restarts).toBe(1)
  await expect
    .poll(() => outputOf(backend, name, sh('echo back')).catch(() => undefined))
    .toMatchObject({ stdout: 'back\n' })
})

test('a volume whose labels do not name the workspace is never deleted', async () => {
  const backend = await open()
  const name = uniqueName('foreign')
  await create(backend, name)
  const labels = { 'workspace.dev/uid': 'another' }
  await cluster.client.patch(claimSchema, at('persistentvolumeclaims', name), { metadata: { labels } })
  await expect(backend.remove(name, false)).rejects.toThrow('was not deleted')
  expect(await objectsOf(name)).toEqual([
    at('configmaps', name),
    at('secrets', name),
    at('persistentvolumeclaims', name),
  ])
  const map = await cluster.client.find(configMapSchema, at('configmaps', name))
  await cluster.client.patch(claimSchema, at('persistentvolumeclaims', name), {
    metadata: { labels: { 'workspace.dev/uid': map?.metadata.uid } },
  })
  await backend.remove(name, false)
  expect(await objectsOf(name)).toEqual([])
})

test('a volume that somebody else created is neither used nor deleted', async () => {
  const backend = await open()
  const name = uniqueName('by-hand')
  const spec = { accessModes: ['ReadWriteOnce'], resources: { requests: { storage: '1Gi' } } }
  const metadata = { name: `ws-${name}` }
  await cluster.client.create(claimSchema, at('persistentvolumeclaims'), { metadata, spec })
  await expect(create(backend, name)).rejects.toThrow('belongs to another server')
  await backend.remove(name, false)
  expect(await objectsOf(name)).toEqual([at('persistentvolumeclaims', name)])
})

test('another server of the namespace sees nothing of a workspace and cannot take its name', async () => {
  const [first, second] = [await open(), await open()]
  const name = uniqueName('taken')
  await create(first, name)
  expect(await second.find(name)).toBeUndefined()
  expect(await second.list()).toEqual([])
  await expect(create(second, name)).rejects.toThrow('another server')
  await second.remove(name, false)
  expect(await first.find(name)).toMatchObject({ state: { is: 'running' } })
  await first.remove(name, false)
})

test('the agent refuses everyone without the key of this start', async () => {
  const backend = await open()
  const { ipAddress } = await create(backend, uniqueName('refused'))
  const socket = connectTls({ host: ipAddress, port: 1025, rejectUnauthorized: false })
  const error = new Promise((resolve) => socket.on('error', resolve).resume())
  expect(await error).toMatchObject({ code: 'ERR_SSL_TLSV13_ALERT_CERTIFICATE_REQUIRED' })
})

test('programs cannot read the keys, change the agent or use the cluster’s API', async () => {
  const backend = await open()
  const name = uniqueName('closed')
  await create(backend, name)
  const script = `cat /run/workspace-keys/agent.key; echo x >/opt/workspace/pod-agent.js; echo x >/opt/workspace/image.json
    ls /var/run/secrets/kubernetes.io; env | grep KUBERNETES`
  const { stdout, stderr } = await outputOf(backend, name, sh(script))
  expect(stdout).toBe('')
  expect(stderr).toMatch(/agent\.key: Permission denied/)
  expect(stderr.match(/Read-only file system/g)).toHaveLength(2)
  const asRoot = await outputOf(
    backend,
    name,
    sh('echo x >/opt/workspace/pod-agent.js; ls /run/workspace-keys', '0'),
  )
  expect(asRoot).toMatchObject({ stdout: expect.not.stringContaining('server.key') })
  expect(asRoot.stderr).toContain('Read-only file system')
})

test('a workspace with network limits has its own policy, which is the only one that selects its pod', async () => {
  const backend = await open()
  const [name, other] = [uniqueName('limited'), uniqueName('unlimited')]
  await create(backend, name, { networkLimits: { egress: 'none' } })
  await create(backend, other)
  const policies = `/apis/networking.k8s.io/v1/namespaces/${cluster.namespace}/networkpolicies`
  const pod = await cluster.client.find(podSchema, at('pods', name))
  const selected = pod?.metadata.labels?.['workspace.dev/policy']
  expect(selected).toBe(pod?.metadata.labels?.['workspace.dev/uid'])
  expect(
    (await cluster.client.find(podSchema, at('pods', other)))?.metadata.labels?.['workspace.dev/policy'],
  ).toBe('server')
  const found = await cluster.client.list(policySchema, policies, {})
  const own = found.items.filter(
    ({ spec }) => spec.podSelector.matchLabels['workspace.dev/policy'] === selected,
  )
  // The cluster leaves out an empty list; with the type, it permits nothing.
  expect(own).toMatchObject([{ spec: { policyTypes: ['Ingress', 'Egress'] } }])
  expect(own[0]?.spec.egress ?? []).toEqual([])
  await backend.remove(name, false)
  expect(await cluster.client.find(anySchema, `${policies}/ws-${name}`)).toBeUndefined()
})

test('an image with nothing but one static program works', async () => {
  const backend = await open()
  const name = uniqueName('bare')
  await create(backend, name, { image: makeBareImage() })
  expect(await outputOf(backend, name, { argv: ['/program', 'argument'], stdin: false })).toEqual({
    stdout: 'ran with argument\n',
    stderr: '',
    status: 0,
  })
})

test('a creation that is canceled ends at once', async () => {
  const backend = await open()
  const name = uniqueName('canceled')
  onTestFinished(() => backend.remove(name, false))
  const canceled = new AbortController()
  const creating = backend.create(
    backendCreate(name, TEST_IMAGE, { createdAt: new Date() }),
    () => canceled.abort(new Error('canceled by its client')),
    canceled.signal,
  )
  await expect(creating).rejects.toThrow('canceled by its client')
})
