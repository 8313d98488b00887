import { afterEach, beforeEach, expect, test } from 'vitest'
import { FakeBackend } from '../../../support/workspace/backend/fake-backend.ts'
import { waitFor } from '../../../support/wait-for.ts'
import { spawnCli, userEnvironment, workspaceCli } from '../../../support/workspace/client/workspace-cli.ts'
import {
  makeWorkspace,
  startWorkspaceServer,
  type TestServer,
} from '../../../support/workspace/server/test-server.ts'

let server: TestServer
beforeEach(async () => {
  server = await startWorkspaceServer({ backends: () => [new FakeBackend()] })
  await makeWorkspace(server.url, { name: 'demo' })
})
afterEach(() => server.stop())

const events = (...flags: readonly string[]) =>
  spawnCli(['events', ...flags], userEnvironment({ WORKSPACE_URL: server.url }))

test('events prints JSON lines when piped, and exits cleanly when interrupted', async () => {
  const cli = events()
  const lines = () => cli.stdout().split('\n').slice(0, -1)
  await waitFor('the snapshot', () => lines().length === 1)
  await server.api('workspaces/demo/stop', 'POST')
  await server.api('workspaces/demo', 'DELETE')
  await waitFor('the events', () => lines().length === 3)
  expect(lines().map((line) => JSON.parse(line))).toMatchObject([
    { type: 'snapshot', workspaces: [{ name: 'demo', status: 'running' }] },
    {
      type: 'changed',
      workspace: {
        name: 'demo',
        status: 'stopped',
        status_reason: { reason: 'a client requested the stop' },
      },
    },
    { type: 'deleted', name: 'demo' },
  ])
  cli.child.kill('SIGINT')
  expect(await cli.exit).toBe(0)
})

test('events prints one line per event on a terminal', async () => {
  await makeWorkspace(server.url, { name: 'other' })
  const cli = events('--table')
  await waitFor('the snapshot', () => cli.stdout().includes('other'))
  await server.api('workspaces/demo/stop', 'POST')
  await server.api('workspaces/demo', 'DELETE')
  await waitFor('the event', () => cli.stdout().includes('deleted'))
  const time = String.raw`\d\d:\d\d:\d\d`
  expect(cli.stdout()).toMatch(
    new RegExp(
      `^${time}  snapshot  demo  running\n${time}  snapshot  other  running\n${time}  changed   demo  stopped: a client requested the stop\n${time}  deleted   demo\n$`,
    ),
  )
})

test('events reports that the server has stopped', async () => {
  const cli = events()
  await waitFor('the snapshot', () => cli.stdout() !== '')
  server = await server.restart()
  expect(await cli.exit).toBe(1)
  expect(cli.stderr()).toMatch(/^workspace: server WORKSPACE_URL at .* is not responding \(.*\n$/)
})

test('events exits when its reader closes standard output', async () => {
  const cli = events()
  await waitFor('the snapshot', () => cli.stdout() !== '')
  cli.child.stdout.destroy()
  await server.api('workspaces/demo', 'DELETE')
  expect(await cli.exit).toBe(0)
})

test('events prints one line when the server is unreachable', async () => {
  const { status, stderr } = await workspaceCli(
    ['events'],
    userEnvironment({ WORKSPACE_URL: 'http://127.0.0.1:9' }),
  )
  expect({ status, stderr }).toEqual({ status: 1, stderr: expect.stringMatching(/^workspace: [^\n]+\n$/) })
})
