import { writeFileSync } from 'node:fs'
import { type AddressInfo, createServer } from 'node:net'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest'
import { FakeBackend } from '../../../support/workspace/backend/fake-backend.ts'
import { tempDir } from '../../../support/temp-dir.ts'
import { userEnvironment, workspaceCli } from '../../../support/workspace/client/workspace-cli.ts'
import {
  makeWorkspace,
  startWorkspaceServer,
  type TestServer,
} from '../../../support/workspace/server/test-server.ts'

let alpha: TestServer
let beta: TestServer
beforeAll(async () => {
  alpha = await startWorkspaceServer({ backends: () => [new FakeBackend()] })
  beta = await startWorkspaceServer({ backends: () => [new FakeBackend()] })
  await makeWorkspace(alpha.url, { name: 'one' })
})
afterAll(() => Promise.all([alpha.stop(), beta.stop()]))

const nobody = { url: 'http://127.0.0.1:9' }

async function cli(servers: object, ...argv: readonly string[]) {
  const file = join(tempDir(), 'cli.yaml')
  writeFileSync(file, JSON.stringify({ servers }))
  return workspaceCli(argv, userEnvironment({ WORKSPACE_CLI_CONFIG: file }))
}

/** A server that accepts connections and never responds; reports each connection with 1, and its end with -1. */
async function silentServer(onChange: (change: 1 | -1) => void): Promise<string> {
  const server = createServer((socket) => {
    onChange(1)
    socket
      .on('error', () => undefined)
      .on('close', () => onChange(-1))
      .resume()
  }).listen(0, '127.0.0.1')
  await new Promise((resolve) => server.once('listening', resolve))
  onTestFinished(() => void server.close())
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}

test('list --all queries every server and reports offline ones', async () => {
  const servers = { alpha: { url: alpha.url }, beta: { url: beta.url }, gamma: nobody, delta: { url: 'x' } }
  const { status, stdout, stderr } = await cli(servers, 'list', '--all')
  expect({ status, stderr }).toEqual({ status: 0, stderr: '' })
  expect(JSON.parse(stdout)).toEqual({
    servers: [
      { server_name: 'alpha', workspaces: [expect.objectContaining({ name: 'one', status: 'running' })] },
      { server_name: 'beta', workspaces: [] },
      { server_name: 'gamma', error: expect.stringContaining('is not responding (') },
      {
        server_name: 'delta',
        error:
          'server "delta": "x" is not a valid server URL; use one such as http://127.0.0.1:8080 or unix:///path/to/socket',
      },
    ],
  })
})

test('list --all has a column for the server', async () => {
  const servers = { alpha: { url: alpha.url }, beta: { url: beta.url }, gamma: nobody }
  const { stdout } = await cli(servers, 'ls', '--all', '--table')
  expect(stdout.split('\n').map((line) => line.split(/ {2,}/))).toEqual([
    ['SERVER', 'NAME', 'STATUS', 'BACKEND', 'AGE', 'SOURCE'],
    ['alpha', 'one', 'running', 'docker', expect.stringMatching(/^\d+s$/)],
    ['beta', '–', 'no workspaces'],
    ['gamma', '–', 'offline', '–', '–', expect.stringContaining('server gamma at http://127.0.0.1:9')],
    [''],
  ])
})

test('info --all prints information about each server', async () => {
  const servers = { alpha: { url: alpha.url }, gamma: nobody }
  const { status, stdout } = await cli(servers, 'info', '--all')
  expect(status).toBe(0)
  expect(JSON.parse(stdout)).toEqual({
    servers: [
      {
        server_name: 'alpha',
        info: expect.objectContaining({ name: 'test-server', ssh_port: alpha.sshPort }),
      },
      { server_name: 'gamma', error: expect.any(String) },
    ],
  })
  expect((await cli(servers, 'info', '--all', '--table')).stdout).toMatch(
    /^SERVER +NAME +VERSION +SSH +BACKENDS\nalpha +test-server .* docker\ngamma +– +offline +– +server gamma .*\n$/,
  )
})

test('list --all reports a server that does not respond within 5 s as offline', async () => {
  let waiting = 0
  let most = 0
  const note = (change: 1 | -1): void => {
    waiting += change
    most = Math.max(most, waiting)
  }
  const { status, stdout } = await cli(
    {
      silent: { url: await silentServer(note) },
      other: { url: await silentServer(note) },
      alpha: { url: alpha.url },
    },
    'list',
    '--all',
  )
  expect(most, 'silent servers asked at the same time').toBe(2)
  expect(status).toBe(0)
  expect(JSON.parse(stdout).servers).toMatchObject([
    { server_name: 'silent', error: expect.stringContaining('did not respond within 5 s') },
    { server_name: 'other', error: expect.any(String) },
    { server_name: 'alpha', workspaces: [{ name: 'one' }] },
  ])
})

test('list --all queries the default server when none is configured', async () => {
  const { stdout } = await workspaceCli(['list', '--all'], userEnvironment({ WORKSPACE_URL: beta.url }))
  expect(JSON.parse(stdout)).toEqual({ servers: [{ server_name: 'WORKSPACE_URL', workspaces: [] }] })
})

test('list refuses --all together with a server', async () => {
  expect(await cli({ alpha: { url: alpha.url } }, 'list', '--all', '-s', 'alpha')).toMatchObject({
    status: 2,
    stderr: expect.stringContaining("cannot be used with option '-s, --server <name>'"),
  })
  expect((await cli({ alpha: { url: alpha.url } }, 'list', '-s', 'alpha')).status).toBe(0)
})
