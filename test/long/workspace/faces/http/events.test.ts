import { expect, onTestFinished, test } from 'vitest'
import { openEventReaders } from '../../../../support/workspace/event-readers.ts'
import { FakeBackend } from '../../../../support/workspace/fake-backend.ts'
import { call, startWorkspaceServer } from '../../../../support/workspace/workspace-server.ts'

test('F28 two thousand readers receive an event within a second', async () => {
  const backend = new FakeBackend()
  const server = await startWorkspaceServer({ backends: () => [backend] })
  onTestFinished(() => server.stop())
  await call(`${server.url}/api/workspaces`, 'POST', { name: 'demo' })
  const readers = openEventReaders(`${server.url}/api/events`, 2_000)
  onTestFinished(() => readers.stop())
  await readers.next()
  const sentMs = performance.timeOrigin + performance.now()
  backend.happen('demo', { is: 'stopped' })
  const { p99Ms, lastMs } = await readers.next()
  expect(p99Ms - sentMs).toBeLessThan(1_000)
  expect(lastMs - sentMs).toBeLessThan(2_000)
})
