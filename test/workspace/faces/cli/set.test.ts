import { afterAll, beforeAll, expect, test } from 'vitest'
import { FakeBackend } from '../../../support/workspace/backend/fake-backend.ts'
import { userEnvironment, workspaceCli } from '../../../support/workspace/client/workspace-cli.ts'
import {
  makeWorkspace,
  startWorkspaceServer,
  type TestServer,
} from '../../../support/workspace/server/test-server.ts'

let server: TestServer
beforeAll(async () => {
  server = await startWorkspaceServer({ backends: () => [new FakeBackend()] })
  await makeWorkspace(server.url, { name: 'other' })
})
afterAll(() => server.stop())

const cli = (...argv: readonly string[]) => workspaceCli(argv, userEnvironment({ WORKSPACE_URL: server.url }))
const json = async (...argv: readonly string[]) => {
  const { status, stdout, stderr } = await cli(...argv)
  expect({ status, stderr }).toEqual({ status: 0, stderr: '' })
  return JSON.parse(stdout)
}

test('create and set pass settings, and list and show print them', { tags: ['long'] }, async () => {
  const expiring = ['--expires', '7d', '--expire-action', 'delete', '--label', 'a=b', '--stop-after', '2h']
  const created = await json('create', 'demo', ...expiring)
  expect(created).toMatchObject({ labels: { a: 'b' }, idle: { stop_after: 7200 }, expire_action: 'delete' })
  const cases = [
    [['--label', 'team=web', '--unlabel', 'a'], { labels: { team: 'web' } }],
    [['--no-wake', '--stop-after', 'never'], { wake: false, idle: { stop_after: 0 } }],
    [['--suspend-after', '90m'], { idle: { stop_after: 0, suspend_after: 5400 } }],
    [['--stop-after', 'default'], { idle: { suspend_after: 5400 } }],
    [['--checkpoint-every', '10m', '--checkpoint-keep', '3'], { checkpoints: { every: 600, keep: 3 } }],
    [['--checkpoint-max-age', '7d'], { checkpoints: { every: 600, keep: 3, max_age: 604800 } }],
    [
      ['--start-at', 'Mon-Fri 08:00', '--stop-at', '0 19 * * 1-5', '--time-zone', 'Europe/Berlin'],
      { schedule: { start: '0 8 * * 1-5', stop: '0 19 * * 1-5', time_zone: 'Europe/Berlin' } },
    ],
    [
      ['--start-at', 'default', '--stop-at', 'never', '--rest', 'suspend'],
      { schedule: { stop: 'never', time_zone: 'Europe/Berlin', rest: 'suspend' } },
    ],
    [['--expires', '2030-01-31T18:00:00Z'], { expires_at: '2030-01-31T18:00:00.000Z' }],
  ] as const
  for (const [flags, expected] of cases) {
    const changed = await json('set', 'demo', ...flags)
    expect(changed, flags.join(' ')).toMatchObject(expected)
    expect(await json('show', 'demo')).toMatchObject(expected)
  }
  expect((await cli('list', '-v', '--table')).stdout).toContain('2030-01-31T18:00:00.000Z')
  expect(await json('set', 'demo', '--expires', 'never')).not.toHaveProperty('expires_at')
  expect(await json('set', 'demo', '--no-checkpoints')).not.toHaveProperty('checkpoints')
})

test.each([
  [[], 'nothing to change'],
  [['--stop-after', 'soon'], 'such as 2h'],
  [['--expires', 'soon'], 'such as 7d'],
  [['--checkpoint-every', '10s'], 'at least 1m'],
  [['--checkpoint-keep', '0'], 'keep'],
  [['--no-checkpoints', '--checkpoint-keep', '3'], 'cannot be used with'],
  [['--expires', '0s'], 'such as 7d'],
  [['--expire-action', 'explode'], 'stop, delete'],
  [['--start-at', 'soon'], 'Mon-Fri 08:00'],
  [['--time-zone', 'Mars'], 'Europe/Berlin'],
  [['--rest', 'hibernate'], 'suspend'],
  [['--label', 'x'], 'KEY=VALUE'],
] as const)('set refuses %j with the remedy', async (flags, remedy) => {
  const { status, stderr } = await cli('set', 'other', ...flags)
  expect(status).not.toBe(0)
  expect(stderr).toContain(remedy)
})
