import { once } from 'node:events'
import { writeFileSync } from 'node:fs'
import { type AddressInfo, createServer } from 'node:net'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { BACKEND_NAMES } from '../../../../src/workspace/backend-name.ts'
import { packageVersion } from '../../../../src/lib/process/package.ts'
import { FakeBackend } from '../../../support/workspace/backend/fake-backend.ts'
import { tempDir } from '../../../support/temp-dir.ts'
import { userEnvironment, workspaceCli } from '../../../support/workspace/client/workspace-cli.ts'
import { startWorkspaceServer, type TestServer } from '../../../support/workspace/server/test-server.ts'

let server: TestServer
beforeAll(async () => {
  server = await startWorkspaceServer({ backends: () => [new FakeBackend()] })
})
afterAll(() => server.stop())

function file(name: string, content: string): string {
  const path = join(tempDir(), name)
  writeFileSync(path, content)
  return path
}

test('--version and --help exit with 0', async () => {
  expect(await workspaceCli(['--version'])).toMatchObject({ status: 0, stdout: `${packageVersion()}\n` })
  const { status, stdout } = await workspaceCli(['create', '--help'])
  expect(status).toBe(0)
  expect(stdout).toContain('workspace create demo --repo octocat/Hello-World')
  expect(BACKEND_NAMES.filter((name) => !stdout.includes(name))).toEqual([])
})

test.each([
  [['crate', 'demo'], "error: unknown command 'crate'\n(Did you mean create?)"],
  [['list', '--jsn'], "error: unknown option '--jsn'\n(Did you mean --json?)"],
  [['show'], "error: missing required argument 'name'"],
  [['create', 'demo', '--cpus', 'two'], 'It must be a whole number.'],
  [['serve', '--http-port', '70000'], 'It must be a port, 0 to 65535.'],
  [['completion', 'tcsh'], 'It must be bash, zsh or fish.'],
])('%j is a usage error with status 2 and a suggestion', async (argv, said) => {
  const { status, stdout, stderr } = await workspaceCli(argv)
  expect({ status, stdout }).toEqual({ status: 2, stdout: '' })
  expect(stderr).toContain(said)
})

/** Returns a closed port. */
async function closedPort(): Promise<number> {
  const listener = createServer().listen(0, '127.0.0.1')
  await once(listener, 'listening')
  const { port } = listener.address() as AddressInfo
  listener.close()
  return port
}

test('a command without a server reports the address and the remedy', async () => {
  const port = await closedPort()
  const { status, stderr } = await workspaceCli(
    ['list'],
    userEnvironment({ WORKSPACE_URL: `http://127.0.0.1:${port}` }),
  )
  expect({ status, stderr }).toEqual({
    status: 1,
    stderr:
      `workspace: server WORKSPACE_URL at http://127.0.0.1:${port} is not responding (connect ECONNREFUSED 127.0.0.1:${port}); ` +
      'start it with "workspace serve", or select another with WORKSPACE_URL\n',
  })
})

test('an invalid WORKSPACE_URL is a usage error', async () => {
  const { status, stderr } = await workspaceCli(
    ['list'],
    userEnvironment({ WORKSPACE_URL: 'localhost:8080' }),
  )
  expect({ status, stderr }).toEqual({
    status: 2,
    stderr:
      'workspace: WORKSPACE_URL: "localhost:8080" is not a valid server URL; use one such as http://127.0.0.1:8080 or unix:///path/to/socket\n',
  })
})

test('-s selects a configured server, and default_server applies without it', async () => {
  const config = file(
    'cli.yaml',
    `servers: {near: {url: "${server.url}"}, far: {url: "http://127.0.0.1:9"}}\ndefault_server: far\n`,
  )
  const user = userEnvironment({ WORKSPACE_CLI_CONFIG: config })
  expect(await workspaceCli(['info', '-s', 'near'], user)).toMatchObject({ status: 0 })
  expect(
    await workspaceCli(['info', '--server', 'near'], { ...user, WORKSPACE_URL: 'http://127.0.0.1:9' }),
  ).toMatchObject({ status: 0 })
  expect((await workspaceCli(['info'], user)).stderr).toContain(
    'server far at http://127.0.0.1:9 is not responding',
  )
  expect(await workspaceCli(['info', '-s', 'nowhere'], user)).toMatchObject({
    status: 2,
    stderr: 'workspace: server "nowhere" is not in the CLI\'s configuration; configured servers: near, far\n',
  })
})

test('default_server can be set in the environment', async () => {
  const user = userEnvironment({ WORKSPACE_CLI_DEFAULT_SERVER: 'nowhere' })
  expect(await workspaceCli(['info'], user)).toMatchObject({
    status: 2,
    stderr: 'workspace: server "nowhere" is not in the CLI\'s configuration; configured servers: none\n',
  })
})

test('config check names the nearest known key', async () => {
  const config = file('config.yaml', 'http: {prot: 1}\n')
  expect(await workspaceCli(['config', 'check', '--config', config])).toMatchObject({
    status: 1,
    stdout: '',
    stderr: `workspace: ${config}: unknown key "http.prot"; did you mean "http.port"?\n`,
  })
})

test('config check accepts a valid file and a missing default file', async () => {
  const config = file('config.yaml', 'http: {port: 8081}\n')
  expect(JSON.parse((await workspaceCli(['config', 'check', '--config', config])).stdout)).toEqual({
    ok: true,
    file: config,
  })
  expect((await workspaceCli(['config', 'check', '--table'])).stdout).toBe(
    'no config file; the defaults are valid\n',
  )
})

test('config check reports an unreadable file', async () => {
  const { status, stderr } = await workspaceCli(['config', 'check', '--config', '/nonexistent/config.yaml'])
  expect(status).toBe(1)
  expect(stderr).toMatch(/^workspace: config file \/nonexistent\/config\.yaml cannot be read: ENOENT.*\n$/)
})

test('config show prints the effective configuration: defaults < file < environment', async () => {
  const config = file('config.yaml', 'http: {port: 8081}\nssh: {port: 2223}\n')
  const user = userEnvironment({ WORKSPACE_CONFIG: config, WORKSPACE_SSH__PORT: '2224' })
  const shown = JSON.parse((await workspaceCli(['config', 'show'], user)).stdout)
  expect(shown).toMatchObject({
    http: { host: '127.0.0.1', port: 8081 },
    ssh: { port: 2224 },
    default_image: 'workspace-base:1',
  })
  expect((await workspaceCli(['config', 'show', '--table'], user)).stdout).toContain(
    'ssh:\n  host: 127.0.0.1\n  port: 2224\n',
  )
})

test('doctor lists what is missing with its remedy and exits with 1', async () => {
  const user = userEnvironment({ DOCKER_HOST: 'unix:///nonexistent/engine.sock' })
  const { status, stdout } = await workspaceCli(['doctor'], user)
  expect(status).toBe(1)
  expect(JSON.parse(stdout).checks).toContainEqual({
    name: 'docker',
    ok: false,
    found: 'no engine responds at unix:///nonexistent/engine.sock',
    remedy: 'run scripts/setup, or install and start Docker or Podman, or set docker.host',
  })
  expect((await workspaceCli(['doctor', '--table'], user)).stdout).toMatch(
    /^MISSING +docker +no engine responds at/m,
  )
})
