import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, onTestFinished, test } from 'vitest'
import { parseCreateRequest, type CreateInput } from '../../../src/workspace/lifecycle/create-request.ts'
import { loadWorkspaceConfig } from '../../../src/workspace/config.ts'
import { narrowed } from '../../../src/workspace/network/narrow.ts'
import { type Egress, type NetworkPolicy, PRIVATE_NETWORKS } from '../../../src/workspace/network/policy.ts'
import { reachOf } from '../../../src/workspace/network/reach.ts'
import { dockerBackend, removeLeftovers, TEST_IMAGE, uniqueName } from '../../support/engine/docker.ts'
import { tempDir } from '../../support/temp-dir.ts'
import { CREATE_DEFAULTS } from '../../support/workspace/lifecycle/create-defaults.ts'
import { FakeBackend } from '../../support/workspace/backend/fake-backend.ts'
import { userEnvironment, workspaceCli } from '../../support/workspace/client/workspace-cli.ts'
import { startWorkspaceServer, type TestServer } from '../../support/workspace/server/test-server.ts'

const configOf = (settings: Readonly<Record<string, unknown>>) =>
  loadWorkspaceConfig({}, { flags: settings }).config

const cli = ({ url }: TestServer, ...argv: readonly string[]) =>
  workspaceCli(argv, userEnvironment({ WORKSPACE_URL: url }))

/** Parses a request that names the only template. */
async function requestOf(template: object, input: Partial<CreateInput> = {}, settings: object = {}) {
  const config = configOf({ templates: { web: template }, ...settings })
  return parseCreateRequest(
    { name: 'demo', template: 'web', ...input },
    {
      ...CREATE_DEFAULTS,
      templates: config.templates,
      reachOf: (backend) => reachOf(backend, config),
      getSnapshot: async (name) =>
        ({ name, backend: 'qemu', sourceImage: 'snapshot-image', sourceWorkspace: 'a' }) as never,
    },
  )
}

const FULL = {
  description: 'everything',
  repo: 'acme/web',
  image: 'web:1',
  backend: 'qemu',
  cpus: 4,
  memory_mb: 4096,
  upper_size: 20,
  no_provision: true,
  dotfiles: 'acme/dotfiles',
  network: { egress: 'internet' },
  labels: { team: 'web', tier: 'dev' },
}

test('each value of a template applies to a request that omits it, and none to one that has it', async () => {
  expect(await requestOf(FULL)).toMatchObject({
    repo: { url: 'https://github.com/acme/web' },
    image: 'web:1',
    backend: 'qemu',
    cpus: 4,
    memoryMb: 4096,
    upperBytes: 20 * 2 ** 30,
    isProvisioned: false,
    networkLimits: { egress: 'internet' },
    labels: { team: 'web', tier: 'dev' },
  })
  const own = {
    repo: 'acme/other',
    image: 'other:2',
    backend: 'firecracker',
    cpus: 0,
    memoryMb: 512,
    upperSize: 2 ** 30,
    noProvision: false,
    dotfiles: 'acme/mine',
    network: { egress: 'none' },
    labels: { team: 'core' },
  } as const
  expect(await requestOf(FULL, own)).toMatchObject({
    repo: { url: 'https://github.com/acme/other' },
    image: 'other:2',
    backend: 'firecracker',
    cpus: 0,
    memoryMb: 512,
    upperBytes: 2 ** 30,
    isProvisioned: true,
    dotfiles: { url: 'https://github.com/acme/mine' },
    networkLimits: { egress: 'none' },
    labels: { team: 'core', tier: 'dev' },
  })
})

test('the source of a request replaces that of its template', async () => {
  const localDir = tempDir()
  expect(await requestOf(FULL, { localDir })).toMatchObject({ localDir, repo: undefined, image: 'web:1' })
  expect(await requestOf(FULL, { fromSnapshot: 'ready' })).toMatchObject({
    fromSnapshot: 'ready',
    repo: undefined,
    image: 'snapshot-image',
    backend: 'qemu',
    upperBytes: 0,
    cpus: 4,
  })
  expect(await requestOf({ from_snapshot: 'ready' }, { repo: 'acme/web' })).toMatchObject({
    fromSnapshot: '',
    repo: { url: 'https://github.com/acme/web' },
  })
  expect(await requestOf({ from_snapshot: 'ready', labels: { a: 'b' } })).toMatchObject({
    fromSnapshot: 'ready',
    labels: { a: 'b' },
  })
  // Docker has no separate disk, whose size would be refused.
  expect(await requestOf(FULL, { backend: 'docker' })).toMatchObject({ upperBytes: 0 })
})

test.each([
  [{ 'a b': {} }, '"templates.a b": its name must be 1 to 63 letters'],
  [{ web: { image: '--privileged' } }, '"templates.web": image "--privileged" is not an image reference'],
  [{ web: { repo: 'https://user:word@example.com/x' } }, 'must not contain a user name or password'],
  [{ web: { dotfiles: 'https://user:word@example.com/x' } }, 'must not contain a user name or password'],
  [{ web: { repo: '/etc' } }, 'is neither owner/repo nor a URL'],
  [{ web: { labels: { '-': 'x' } } }, 'label key "-" is invalid'],
  [{ web: { from_snapshot: 'a', image: 'b' } }, 'from_snapshot excludes repo, image and upper_size'],
  [{ web: { network: { allow_host_ports: [80] } } }, 'the server does not open port 80'],
  [{ web: { devcontainer: { forwardPorts: {} } } }, 'devcontainer: forwardPorts is an object, not a list'],
  [
    { web: { devcontainer: { image: '--privileged' } } },
    'devcontainer: image "--privileged" is not an image',
  ],
  [{ web: { memory: 1 } }, 'unknown key "templates.web.memory"'],
  [{ web: { cpus: 'many' } }, '"templates.web.cpus" must be integer'],
])('the templates %j are refused before the server starts', (templates, message) => {
  expect(() => configOf({ templates })).toThrow(
    expect.objectContaining({ code: 'CONFIG_INVALID', message: expect.stringContaining(message) }),
  )
})

describe('a request never widens the network of its template', () => {
  const EGRESS: readonly Egress[] = [
    'open',
    'internet',
    'none',
    ['names.example'],
    ['10.1.0.0/16'],
    ['8.8.0.0/16'],
    ['names.example', '10.1.2.0/24', '8.8.8.0/24'],
  ]
  /** The destinations that a policy allows, one of each kind that the lists distinguish. */
  const reached = ({ egress, isPublicOnly = false }: NetworkPolicy): ReadonlySet<string> => {
    const isOpen = (isPrivate: boolean) => egress === 'open' || (egress === 'internet' && !isPrivate)
    const has = (...entries: readonly string[]) =>
      typeof egress !== 'string' && entries.some((entry) => egress.includes(entry))
    const all = {
      'a public address of names.example': isOpen(false) || has('names.example'),
      'a private address of names.example': isOpen(true) || (has('names.example') && !isPublicOnly),
      '10.1.2.3': isOpen(true) || (has('10.1.0.0/16', '10.1.2.0/24') && !isPublicOnly),
      '10.1.9.9': isOpen(true) || (has('10.1.0.0/16') && !isPublicOnly),
      '8.8.8.8': isOpen(false) || has('8.8.0.0/16', '8.8.8.0/24'),
      '8.8.1.1': isOpen(false) || has('8.8.0.0/16'),
      '1.1.1.1': isOpen(false),
    }
    return new Set(Object.entries(all).flatMap(([name, isReached]) => (isReached ? [name] : [])))
  }

  test('for each policy of the server, the template and the request', async () => {
    expect(PRIVATE_NETWORKS).toContain('10.0.0.0/8')
    let accepted = 0
    for (const server of EGRESS)
      for (const template of EGRESS)
        for (const own of EGRESS) {
          const settings = { network: { egress: server, allow_host_ports: [80, 443] } }
          const limited = { network: { egress: template, allow_host_ports: [80] } }
          const [outer, inner] = await Promise.all([
            requestOf(limited, {}, settings).catch(() => undefined),
            requestOf(limited, { network: { egress: own as string } }, settings).catch(() => undefined),
          ])
          if (outer === undefined || inner === undefined) continue
          accepted++
          const { policy } = reachOf('docker', configOf(settings))
          const allowed = reached(narrowed(policy, outer.networkLimits))
          const used = reached(narrowed(policy, inner.networkLimits))
          expect(
            [...used].filter((each) => !allowed.has(each)),
            JSON.stringify({ server, template, own }),
          ).toEqual([])
          expect(narrowed(policy, inner.networkLimits).allowHostPorts).toEqual([80])
        }
    expect(accepted).toBeGreaterThan(40)
  })

  test('a port of the host that the template leaves out is refused', async () => {
    const settings = { network: { allow_host_ports: [80, 443] } }
    const template = { network: { allow_host_ports: [80] } }
    await expect(requestOf(template, { network: { allow_host_ports: [443] } }, settings)).rejects.toThrow(
      'port 443',
    )
  })

  test('limits that another backend cannot enforce are refused', async () => {
    const settings = { docker: { network: 'bridge' } }
    const template = { backend: 'qemu', network: { egress: 'none' } }
    expect(await requestOf(template, {}, settings)).toMatchObject({ networkLimits: { egress: 'none' } })
    await expect(requestOf(template, { backend: 'docker' }, settings)).rejects.toThrow(
      'cannot enforce limits',
    )
  })
})

test('clients list templates, without the contents of their devcontainer.json', async () => {
  const devcontainer = { containerEnv: { TOKEN: 'canary' } }
  const file = join(tempDir(), 'config.yaml')
  writeFileSync(file, JSON.stringify({ templates: { web: { ...FULL, devcontainer }, bare: {} } }))
  const { config } = loadWorkspaceConfig({}, { file })
  expect(config.templates.get('web')?.devContainer?.environment).toEqual({ TOKEN: 'canary' })
  const server = await startWorkspaceServer({
    backends: () => [new FakeBackend()],
    settings: { templates: { web: { ...FULL, devcontainer }, bare: {} } },
  })
  onTestFinished(() => server.stop())
  const { upper_size: _, ...same } = FULL
  expect((await server.api('templates')).body).toEqual({
    templates: [
      { name: 'web', ...same, upper_size_bytes: 20 * 2 ** 30, devcontainer: true },
      { name: 'bare' },
    ],
  })
  const { stdout } = await cli(server, 'templates', '--table')
  expect(stdout).toMatch(/^web\s+qemu\s+acme\/web\s+web:1\s+4\s+4096 MiB\s+everything$/m)
  expect(await server.create({ name: 'demo', template: 'wob' })).toMatchObject({
    status: 404,
    body: {
      error: {
        code: 'TEMPLATE_NOT_FOUND',
        message: 'template "wob" does not exist; the server has web, bare',
      },
    },
  })
})

test('a container has the environment, ports and hooks of its template', async () => {
  const backend = dockerBackend()
  const server = await startWorkspaceServer({
    backends: () => [backend],
    settings: {
      default_image: TEST_IMAGE,
      templates: {
        web: {
          labels: { team: 'web' },
          devcontainer: {
            containerEnv: { GREETING: 'hello' },
            forwardPorts: [3000],
            postCreateCommand: 'echo "$GREETING" > greeted',
          },
        },
      },
    },
  })
  const name = uniqueName('template')
  onTestFinished(async () => {
    await server.api(`workspaces/${name}`, 'DELETE')
    await server.stop()
    await removeLeftovers(name)
  })
  const created = await cli(server, 'create', name, '--template', 'web', '--json')
  expect(created).toMatchObject({ status: 0 })
  expect(JSON.parse(created.stdout)).toMatchObject({ labels: { team: 'web' }, forward_ports: [3000] })
  const inside = await cli(server, 'exec', name, 'sh', '-c', 'cat greeted; env')
  expect(inside.stdout).toMatch(/^hello$/m)
  expect(inside.stdout).toMatch(/^GREETING=hello$/m)
})
