import { chmodSync, mkdirSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, onTestFinished, test, vi } from 'vitest'
import { readManifest } from '../../../../guest/agent/extensions/read-manifest.ts'
import { imageEnvironment } from '../../../../guest/agent/image-config.ts'
import { serveNamespace } from '../../../../src/workspace/client/serve-namespace.ts'
import { FakeBackend } from '../../../support/workspace/backend/fake-backend.ts'
import { simulatedGuest } from '../../../support/workspace/guest/guest-simulator.ts'
import { tempDir } from '../../../support/temp-dir.ts'
import { waitFor } from '../../../support/wait-for.ts'
import {
  userEnvironment,
  workspaceCli,
  workspaceCliOnTerminal,
} from '../../../support/workspace/client/workspace-cli.ts'
import {
  makeWorkspace,
  startWorkspaceServer,
  type TestServer,
} from '../../../support/workspace/server/test-server.ts'

const owner = process.getuid?.() ?? 0
const manifestOf = (namespace: string) =>
  `namespace: ${namespace}\nsystemd_unit: workspace-ext-${namespace}.service\nenvironment: {TEST_${namespace.toUpperCase()}: "there"}\n`

describe('a machine with extensions', () => {
  let backend: FakeBackend
  let server: TestServer
  beforeEach(async () => {
    backend = new FakeBackend()
    server = await startWorkspaceServer({
      backends: () => [backend],
      settings: { extensions: { enabled: ['demo', 'lacking'] } },
    })
    vi.spyOn(console, 'error').mockReturnValue()
  })
  afterEach(async () => {
    vi.restoreAllMocks()
    await server.stop()
  })

  /** A machine whose image has manifests of two extensions, and whose services are recorded instead of started. */
  async function machine() {
    const directory = tempDir()
    for (const name of ['demo', 'other']) writeFileSync(join(directory, `${name}.yaml`), manifestOf(name))
    const started: string[] = []
    const guest = await simulatedGuest(backend, 'demo', undefined, {
      readManifest: (namespace) => readManifest(namespace, directory, owner),
      services: {
        start: (unit) => Promise.resolve(void started.push(unit)),
        states: (units) => Promise.resolve(units.map(() => 'running')),
      },
    })
    return { guest, started }
  }
  const health = async () => (await server.api('plugins/workspaces')).body.workspaces[0]?.extensions ?? []
  const listen = () => {
    const end = new AbortController()
    onTestFinished(() => end.abort())
    void serveNamespace('demo', () => ({}), { server: { url: server.url }, signal: end.signal })
    return end
  }

  test('starts the extensions that the server enables and the image contains, and sets their environment', async () => {
    const { started } = await machine()
    await waitFor('their health', async () => (await health()).length === 2)
    expect(started).toEqual(['workspace-ext-demo.service'])
    expect(imageEnvironment()).toMatchObject({ TEST_DEMO: 'there' })
    expect(imageEnvironment()).not.toHaveProperty('TEST_OTHER')
  })

  test('reports the state of its services and of the host, and the CLI shows it', async () => {
    await makeWorkspace(server.url, { name: 'demo' })
    listen()
    await machine()
    await waitFor('a response from the host', async () => (await health())[0]?.host === 'connected')
    expect(await health()).toEqual([
      { namespace: 'demo', guest: 'running', host: 'connected' },
      { namespace: 'lacking', guest: 'missing', host: 'disconnected' },
    ])
    const environment = userEnvironment({ WORKSPACE_URL: server.url })
    const { stdout } = await workspaceCli(['list', '-vv'], environment)
    expect(JSON.parse(stdout).workspaces).toMatchObject([
      { name: 'demo', extensions: [{ namespace: 'demo', guest: 'running', host: 'connected' }, {}] },
    ])
    const table = await workspaceCliOnTerminal(['list', '-vv'], environment)
    expect(table).toContain('EXTENSIONS')
    expect(table).toContain('demo(guest=running, host=connected) lacking(guest=missing, host=disconnected)')
    expect(await workspaceCliOnTerminal(['list'], environment)).not.toContain('EXTENSIONS')
  })

  test('starts each extension once, even if it reconnects to the host', async () => {
    const { guest, started } = await machine()
    await waitFor('their health', async () => (await health()).length === 2)
    guest.lose()
    await waitFor('the disconnect', async () => (await health()).length === 0)
    guest.find()
    await waitFor('their health again', async () => (await health()).length === 2)
    expect(started).toEqual(['workspace-ext-demo.service'])
  })
})

describe('manifests', () => {
  beforeEach(() => void vi.spyOn(console, 'error').mockReturnValue())
  afterEach(() => void vi.restoreAllMocks())

  /** Creates a directory with a manifest. */
  const read = (spoil: (directory: string, file: string) => void, as = owner) => {
    const directory = tempDir()
    const file = join(directory, 'demo.yaml')
    writeFileSync(file, manifestOf('demo'), { mode: 0o644 })
    spoil(directory, file)
    return readManifest('demo', directory, as)
  }

  test('are read from a file owned by root', () => {
    expect(read(() => undefined)).toMatchObject({ namespace: 'demo', unit: 'workspace-ext-demo.service' })
    expect(readManifest('demo', tempDir())).toBeUndefined()
  })

  test('W11 of another owner are ignored', () => {
    expect(read(() => undefined, owner + 1)).toBeUndefined()
  })

  test('W11 that others can write are ignored', () => {
    expect(read((_, file) => chmodSync(file, 0o666))).toBeUndefined()
    expect(read((_, file) => chmodSync(file, 0o664))).toBeUndefined()
  })

  test('W11 that are links or not regular files are ignored', () => {
    const linked = tempDir()
    writeFileSync(join(linked, 'real.yaml'), manifestOf('demo'))
    symlinkSync(join(linked, 'real.yaml'), join(linked, 'demo.yaml'))
    expect(readManifest('demo', linked, owner)).toBeUndefined()
    const directory = tempDir()
    mkdirSync(join(directory, 'demo.yaml'))
    expect(readManifest('demo', directory, owner)).toBeUndefined()
    symlinkSync('/dev/zero', join(directory, 'zero.yaml'))
    expect(readManifest('zero', directory, owner)).toBeUndefined()
  })

  test('W11 of many megabytes are not read', () => {
    expect(read((_, file) => writeFileSync(file, Buffer.alloc(8 * 2 ** 20)))).toBeUndefined()
  })
})
