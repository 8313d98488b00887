import { execFileSync } from 'node:child_process'
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, afterEach, beforeAll, expect, onTestFinished, test } from 'vitest'
import { printable } from '../../../../src/lib/cli/table.ts'
import { FakeBackend } from '../../../support/workspace/backend/fake-backend.ts'
import { tempDir } from '../../../support/temp-dir.ts'
import {
  userEnvironment,
  workspaceCli,
  workspaceCliOnTerminal,
} from '../../../support/workspace/client/workspace-cli.ts'
import { makeKey, publicKey } from '../../../support/workspace/ssh/open-ssh.ts'
import { startWorkspaceServer, type TestServer } from '../../../support/workspace/server/test-server.ts'

const backend = new FakeBackend()
let server: TestServer

beforeAll(async () => {
  server = await startWorkspaceServer({ backends: () => [backend] })
})
afterEach(async () => {
  backend.before.clear()
  const { body } = await server.api('workspaces')
  for (const { name } of body.workspaces) await server.api(`workspaces/${name}`, 'DELETE')
})
afterAll(() => server.stop())

const environment = () => userEnvironment({ WORKSPACE_URL: server.url })
const cli = (...argv: readonly string[]) => workspaceCli(argv, environment())
const create = (name: string) => server.create({ name })
const json = async (...argv: readonly string[]) => {
  const { status, stdout, stderr } = await cli(...argv)
  expect({ status, stderr }).toEqual({ status: 0, stderr: '' })
  return JSON.parse(stdout)
}

function expectNoControls(shown: string): void {
  const lines = shown.split('\r\n')
  expect(lines.map(printable)).toEqual(lines)
}

test('create prints the workspace as JSON when piped', async () => {
  expect(await json('create', 'demo', '--cpus', '2', '--memory-mb', '512')).toMatchObject({
    name: 'demo',
    status: 'running',
    backend: 'docker',
    cpus: 2,
    memory_mb: 512,
  })
})

test('create --label sets labels, which show prints and list selects by', async () => {
  const labels = { team: 'web', 'example.com/tier': 'a=b', empty: '' }
  const argv = Object.entries(labels).flatMap(([key, value]) => ['--label', `${key}=${value}`])
  expect(await json('create', 'one', ...argv)).toMatchObject({ labels })
  await json('create', 'two', '--label', 'team=api')
  await create('three')
  expect(await json('show', 'one')).toMatchObject({ labels })
  expect((await cli('show', 'two', '--table')).stdout).toMatch(/^labels +team: api$/m)
  const names = async (...conditions: readonly string[]) =>
    (await json('list', ...conditions.flatMap((each) => ['--label', each]))).workspaces.map(
      ({ name }: { name: string }) => name,
    )
  expect(await names('team=web')).toEqual(['one'])
  expect(await names('team')).toEqual(['one', 'two'])
  expect(await names('team', 'empty=')).toEqual(['one'])
  expect(await names('toString')).toEqual([])
  expect((await cli('list', '-v', '--table')).stdout).toContain('team=web,example.com/tier=a=b,empty=')
  const refused = await cli('create', 'four', '--label', 'no-value')
  expect([refused.status, refused.stderr]).toEqual([2, expect.stringContaining('It must be KEY=VALUE')])
  expect(await cli('list', '--label', 'bad key')).toMatchObject({
    status: 1,
    stderr: expect.stringContaining('label key "bad key" is invalid: a key has 1 to 63'),
  })
})

test('create --local-dir mounts a directory of the server', async () => {
  const directory = tempDir()
  expect(await json('create', 'here', '--local-dir', directory)).toMatchObject({ local_dir: directory })
})

test('create --no-provision ignores devcontainer.json', async () => {
  const directory = tempDir()
  writeFileSync(join(directory, '.devcontainer.json'), '{"image": "other:1"}')
  expect(await json('create', 'demo', '--local-dir', directory, '--no-provision')).toMatchObject({
    image: 'workspace-base:1',
  })
  expect(await json('create', 'provisioned', '--local-dir', directory)).toMatchObject({ image: 'other:1' })
})

test('create --repo clones inside the workspace', async () => {
  const { status, stderr } = await cli('create', 'demo', '--repo', 'http://127.0.0.1:9/nothing.git')
  expect(status).toBe(1)
  expect(stderr).toMatch(/^workspace: cloning http:\/\/127\.0\.0\.1:9\/nothing\.git failed: fatal: .*\n$/)
})

test('create sends the requested image and backend', async () => {
  expect(await json('create', 'demo', '--image', 'other:2', '--backend', 'docker')).toMatchObject({
    image: 'other:2',
  })
  const { status, stderr } = await cli('create', 'vm', '--backend', 'vz')
  expect({ status, stderr }).toEqual({
    status: 1,
    stderr: 'workspace: backend vz is not enabled; run "workspace doctor" to see what is missing\n',
  })
})

test('list and ls print JSON when piped and a table with --table', async () => {
  expect(await json('list')).toEqual({ workspaces: [] })
  await create('demo')
  expect((await json('ls')).workspaces).toMatchObject([{ name: 'demo' }])
  const { stdout } = await cli('list', '--table')
  expect(stdout).toMatch(/^NAME +STATUS +BACKEND +AGE +SOURCE\ndemo +running +docker +\d+s\n$/)
})

test('list explains how to create the first workspace', async () => {
  expect((await cli('list', '--table')).stdout).toBe(
    'no workspaces; create one with: workspace create NAME\n',
  )
})

test('list prints a table on a terminal and JSON with --json', async () => {
  await create('demo')
  expect(await workspaceCliOnTerminal(['list'], environment())).toContain('NAME  STATUS')
  expect(JSON.parse(await workspaceCliOnTerminal(['list', '--json'], environment()))).toMatchObject({
    workspaces: [{ name: 'demo' }],
  })
})

test('show prints a workspace with one line per field', async () => {
  await create('demo')
  expect(await json('show', 'demo')).toMatchObject({ name: 'demo', status: 'running' })
  expect((await cli('show', 'demo', '--table')).stdout).toMatch(/^name +demo\nstatus +running\n/)
})

test('stop and start change the status', async () => {
  await create('demo')
  expect(await json('stop', 'demo')).toMatchObject({ status: 'stopped' })
  expect((await cli('start', 'demo', '--table')).stdout).toBe('demo is running\n')
})

test('rm deletes a workspace and keeps its files with --keep-volume', async () => {
  await create('demo')
  expect(await json('rm', 'demo', '--keep-volume')).toEqual({ deleted: 'demo' })
  expect(await backend.hasVolume('demo')).toBe(true)
  await create('demo')
  expect((await cli('rm', 'demo', '--table')).stdout).toBe('demo is deleted\n')
  expect(await backend.hasVolume('demo')).toBe(false)
})

test('commands take several names, and report each that fails', async () => {
  await create('one')
  await create('two')
  expect(await json('stop', 'one', 'two', 'one')).toMatchObject({
    workspaces: [
      { name: 'one', status: 'stopped' },
      { name: 'two', status: 'stopped' },
    ],
  })
  expect(await cli('start', 'one', 'no-such', 'two', 'none', '--table')).toMatchObject({
    status: 1,
    stdout: 'one is running\ntwo is running\n',
    stderr: expect.stringMatching(/^workspace: .*"no-such".*\nworkspace: .*"none".*\n$/),
  })
  expect(await cli('rm', 'one', 'no-such')).toMatchObject({
    status: 1,
    stdout: '{\n  "deleted": [\n    "one"\n  ]\n}\n',
  })
  expect(await json('rm', 'two', 'no-such', '--force', '-y')).toEqual({ deleted: ['two', 'no-such'] })
  expect(await json('rm', 'no-such', '-f')).toEqual({ deleted: 'no-such' })
})

test('ssh and cp find a key in HOME, also if the home of the account is another folder', async () => {
  const user = userEnvironment({ WORKSPACE_URL: server.url })
  const folder = join(String(user['HOME']), '.ssh')
  mkdirSync(folder, { mode: 0o700 })
  const key = makeKey(folder, 'ed25519')
  const listed = tempDir()
  writeFileSync(join(listed, 'keys'), publicKey(key))
  const strict = await startWorkspaceServer({
    backends: () => [new FakeBackend()],
    settings: { ssh: { authorized_keys: join(listed, 'keys') } },
  })
  onTestFinished(() => strict.stop())
  await strict.create({ name: 'demo' })
  const strictly = { ...user, WORKSPACE_URL: strict.url }
  const found = await workspaceCli(['ssh', 'demo', 'echo here'], strictly)
  expect(found).toMatchObject({ status: 0, stdout: 'here\n' })
  expect(await workspaceCli(['cp', join(listed, 'keys'), 'demo:keys'], strictly)).toMatchObject({
    status: 0,
    stderr: '',
  })
})

test('info prints information about the server', async () => {
  expect(await json('info')).toMatchObject({ name: 'test-server', http_port: server.httpPort })
  expect((await cli('info', '--table')).stdout).toContain('enabled_backends  docker\n')
})

test('create shows its progress on a terminal', async () => {
  expect(await workspaceCliOnTerminal(['create', 'demo'], environment())).toContain('creating the container')
})

test('ssh runs a command in the workspace and exits with its status', async () => {
  await create('demo')
  const ran = await cli('ssh', 'demo', 'echo out; echo err >&2; exit 7')
  expect(ran).toMatchObject({ status: 7, stdout: 'out\n', stderr: 'err\n' })
})

test('ssh generates a key once for a user without one and pins the host key', async () => {
  await create('demo')
  const user = environment()
  const first = await workspaceCli(['ssh', 'demo', 'true'], user)
  const second = await workspaceCli(['ssh', 'demo', 'true'], user)
  expect([first.status, second.status, second.stderr]).toEqual([0, 0, ''])
  const made = execFileSync(
    'find',
    [join(user['HOME'] ?? '', '.config'), '-type', 'f', '-printf', '%P %m\n'],
    {
      encoding: 'utf8',
    },
  )
  expect(made.trim().split('\n').toSorted()).toEqual([
    'workspace/id_ed25519 600',
    'workspace/id_ed25519.pub 644',
    expect.stringMatching(/^workspace\/known_hosts\.d\/[0-9a-f]{32} 600$/),
  ])
})

test('ssh into a stopped workspace explains how to start it', async () => {
  await create('demo')
  await cli('stop', 'demo')
  expect(await cli('ssh', 'demo', 'true')).toMatchObject({
    status: 255,
    stderr: expect.stringContaining('start it with: workspace start demo'),
  })
})

test.each([
  [['show', 'nobody'], 'workspace "nobody" does not exist'],
  [['start', 'demo'], 'workspace "demo" is already running'],
  [['create', 'DEMO'], 'workspace "demo" already exists; connect with: workspace ssh demo'],
  [
    ['create', 'other', '--repo', 'nonsense'],
    'is neither owner/repo nor a URL, such as git/git or https://example.com/x.git',
  ],
  [['create', 'a_b'], 'name "a_b" must be 1 to 63 letters, digits or hyphens'],
])('%j fails with a one-line message', async (argv, said) => {
  await create('demo')
  const { status, stdout, stderr } = await cli(...argv)
  expect({ status, stdout }).toEqual({ status: 1, stdout: '' })
  expect(stderr).toMatch(/^workspace: [^\n]+\n$/)
  expect(stderr).toContain(said)
})

test('H10 control characters in data do not reach the terminal', async () => {
  await create('demo')
  backend.happen('demo', { is: 'error', message: 'red \u001b[31m bell \u0007 csi \u009b31m' })
  for (const flag of ['--table', '--json']) {
    const shown = await workspaceCliOnTerminal(['show', 'demo', flag], environment())
    expect(shown).toContain('red')
    expectNoControls(shown)
  }
  expect(await json('show', 'demo')).toMatchObject({
    error_message: 'red \u001b[31m bell \u0007 csi \u009b31m',
  })
})

test('H10 control characters in progress and errors do not reach the terminal', async () => {
  backend.before.set('started', () => {
    throw new Error('broken \u001b]0;title\u0007')
  })
  const shown = await workspaceCliOnTerminal(['create', 'demo'], environment())
  expect(shown).toContain('broken')
  expectNoControls(shown)
})
