import { afterEach, beforeEach, expect, test } from 'vitest'
import { RebootLimit } from '../../../src/workspace/backend/microvm/reboot-limit.ts'
import { readEventStream } from '../../support/http/event-stream.ts'
import { FakeBackend } from '../../support/workspace/backend/fake-backend.ts'
import { FakeClock } from '../../support/fake-clock.ts'
import {
  makeWorkspace,
  startWorkspaceServer,
  type TestServer,
} from '../../support/workspace/server/test-server.ts'

let backend: FakeBackend
let server: TestServer
beforeEach(async () => {
  backend = new FakeBackend()
  server = await startWorkspaceServer({ backends: () => [backend] })
  await makeWorkspace(server.url, { name: 'demo' })
})
afterEach(() => server.stop())

const statusOf = async () => (await server.api('workspaces/demo')).body.status

test('a workspace that reboots is started again, and the event stream shows it', async () => {
  const stream = await readEventStream(`${server.url}/api/events`)
  await stream.first(1)
  backend.reboot('demo')
  const [, ...changes] = await stream.first(3)
  expect(changes.map(({ data }) => data.workspace.status)).toEqual(['starting', 'running'])
})

test('a workspace that fails to start after its reboot has the backend’s state', async () => {
  backend.before.set('start', () => Promise.reject(new Error('no')))
  backend.reboot('demo')
  await expect.poll(statusOf).toBe('stopped')
  backend.before.clear()
})

test('a workspace stopped during its reboot stays stopped', async () => {
  await server.api('workspaces/demo/stop', 'POST')
  backend.reboot('demo')
  // Operations on one name run in sequence: this one comes after the restart.
  await server.api('workspaces/demo/stop', 'POST')
  expect(await statusOf()).toBe('stopped')
})

test('a VM in a reboot loop is left off, and may be started again', async () => {
  const clock = new FakeClock()
  const limit = new RebootLimit(clock)
  const admitted = Array.from({ length: 7 }, () => limit.admits('demo'))
  expect(admitted).toEqual([true, true, true, true, true, false, true])
  expect(limit.admits('other')).toBe(true)
  for (let i = 0; i < 20; i++) {
    await clock.pass(130_000)
    expect(limit.admits('slow')).toBe(true)
  }
})
