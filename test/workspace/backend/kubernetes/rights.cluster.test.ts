import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { parse } from 'yaml'
import { packageRoot } from '../../../../src/lib/process/package.ts'
import { Type } from '../../../../src/lib/schema/type.ts'
import { clusterAccess } from '../../../../src/workspace/backend/kubernetes/api/cluster-access.ts'
import { anySchema } from '../../../../src/workspace/backend/kubernetes/api/objects.ts'
import { KubernetesBackend } from '../../../../src/workspace/backend/kubernetes/kubernetes-backend.ts'
import type { Outcome } from '../../../../src/workspace/backend/trouble.ts'
import { clusterNamespace, clusterOptions, KUBECONFIG } from '../../../support/cluster/cluster.ts'
import { TEST_IMAGE, uniqueName } from '../../../support/engine/docker.ts'
import { tempDir } from '../../../support/temp-dir.ts'
import { waitFor } from '../../../support/wait-for.ts'
import { backendCreate } from '../../../support/workspace/backend/backend-create.ts'
import { outputOf, sh } from '../../../support/workspace/backend/backends.ts'

const cluster = clusterNamespace()

/** Creates a service account with the rights of the documentation, and returns a kubeconfig with its token. */
async function documentedAccount(name: string) {
  const page = readFileSync(join(packageRoot, 'docs/workspace/kubernetes.md'), 'utf8')
  const [, manifest = ''] = /```yml\n(apiVersion: rbac[^`]*)```/.exec(page) ?? []
  const role = parse(manifest) as {
    metadata: { name: string; namespace: string }
    rules: readonly { resources: readonly string[] }[]
  }
  role.metadata.name = name
  role.metadata.namespace = cluster.namespace
  const rights = `/apis/rbac.authorization.k8s.io/v1/namespaces/${cluster.namespace}`
  const accounts = `/api/v1/namespaces/${cluster.namespace}/serviceaccounts`
  await cluster.client.create(anySchema, `${rights}/roles`, role)
  await cluster.client.create(anySchema, accounts, {
    apiVersion: 'v1',
    kind: 'ServiceAccount',
    metadata: { name },
  })
  await cluster.client.create(anySchema, `${rights}/rolebindings`, {
    apiVersion: 'rbac.authorization.k8s.io/v1',
    kind: 'RoleBinding',
    metadata: { name },
    roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'Role', name },
    subjects: [{ kind: 'ServiceAccount', name, namespace: cluster.namespace }],
  })
  const tokenSchema = Type.Object({ status: Type.Object({ token: Type.String() }) })
  const { status } = await cluster.client.create(tokenSchema, `${accounts}/${name}/token`, {
    apiVersion: 'authentication.k8s.io/v1',
    kind: 'TokenRequest',
    spec: {},
    metadata: { name },
  })
  const config = parse(readFileSync(KUBECONFIG, 'utf8')) as { users: { user: object }[] }
  for (const each of config.users) each.user = { token: status.token }
  const file = join(tempDir(), 'kubeconfig')
  writeFileSync(file, JSON.stringify(config))
  const setRules = (rules: typeof role.rules) =>
    cluster.client.patch(anySchema, `${rights}/roles/${name}`, { rules })
  return { access: () => clusterAccess(file), rules: role.rules, setRules }
}

test('the documented rights suffice for all work, and for nothing outside the namespace', async () => {
  const { access } = await documentedAccount('all')
  const backend = new KubernetesBackend({ ...clusterOptions(cluster.namespace), access })
  await backend.open(() => undefined)
  onTestFinished(() => backend.close())
  expect(backend.isAvailable).toBe(true)
  const name = uniqueName('rights')
  const progress: string[] = []
  const request = backendCreate(name, TEST_IMAGE, {
    createdAt: new Date(),
    networkLimits: { egress: 'none' },
  })
  await backend.create(request, (message) => progress.push(message), new AbortController().signal)
  expect(progress.join('\n')).toContain('Scheduled')
  expect(await outputOf(backend, name, sh('echo works'))).toMatchObject({ stdout: 'works\n' })
  expect(await backend.logs(name, 10)).toEqual([])
  await backend.stop(name)
  await backend.start(name)
  expect((await backend.usage()).workspaces.get(name)).toMatchObject([{ kind: 'volume' }])
  await backend.remove(name, true)
  expect(await backend.hasVolume(name)).toBe(true)
  await backend.remove(name, false)
  expect(await backend.hasVolume(name)).toBe(false)

  const elsewhere = new KubernetesBackend({ ...clusterOptions('default'), access })
  await elsewhere.open(() => undefined)
  onTestFinished(() => elsewhere.close())
  expect(elsewhere.whyUnavailable).toContain('is forbidden')
  await expect(elsewhere.list()).rejects.toMatchObject({ status: 403 })
})

test('a network policy that somebody deleted is restored; a server that may not do so reports it', async () => {
  const { access, rules, setRules } = await documentedAccount('restoring')
  const options = { ...clusterOptions(cluster.namespace), access }
  const open = async () => {
    const outcomes: Outcome[] = []
    const backend = new KubernetesBackend(options)
    await backend.open((change) => void (change.is === 'trouble' && outcomes.push(change)))
    onTestFinished(() => backend.close())
    return { backend, outcomes }
  }
  const name = uniqueName('policy')
  const first = await open()
  const request = backendCreate(name, TEST_IMAGE, {
    createdAt: new Date(),
    networkLimits: { egress: 'none' },
  })
  await first.backend.create(request, () => undefined, new AbortController().signal)
  onTestFinished(() => first.backend.remove(name, false))
  const path = `/apis/networking.k8s.io/v1/namespaces/${cluster.namespace}/networkpolicies/ws-${name}`
  const policy = () => cluster.client.find(anySchema, path)
  await cluster.client.delete(path, (await policy())?.metadata.uid ?? '')

  await setRules(rules.filter(({ resources }) => !resources.includes('networkpolicies')))
  const second = await open()
  await waitFor('the report', () => second.outcomes.some(({ error }) => error !== undefined))
  const failure = second.outcomes.find(({ error }) => error !== undefined)
  expect(failure).toMatchObject({
    what: 'apply the network rules',
    error: { message: expect.stringContaining('forbidden') },
  })
  const [workspace] = await second.backend.list()
  expect(workspace && failure?.subject?.concerns(workspace)).toBe(true)
  expect(await policy()).toBeUndefined()

  await setRules(rules)
  await waitFor('the policy', async () => (await policy()) !== undefined)
  await waitFor('the end of the trouble', () => second.outcomes.at(-1)?.error === undefined)
})
