import { expect, onTestFinished, test } from 'vitest'
import { leastMs } from '../../../support/quickest.ts'
import { openEventReaders } from '../../../support/workspace/event-readers.ts'
import { FakeBackend } from '../../../support/workspace/fake-backend.ts'
import { call, startWorkspaceServer } from '../../../support/workspace/workspace-server.ts'

test('F28 two thousand readers receive an event within a second', async () => {
  const backend = new FakeBackend()
  const server = await startWorkspaceServer({ backends: () => [backend] })
  onTestFinished(() => server.stop())
  await call(`${server.url}/api/workspaces`, 'POST', { name: 'demo' })
  const readers = openEventReaders(`${server.url}/api/events`, 2_000)
  onTestFinished(() => readers.stop())
  await readers.next()
  let isRunning = true
  const p99Ms = await leastMs(
    1_000,
    async () => {
      const sentMs = performance.timeOrigin + performance.now()
      isRunning = !isRunning
      backend.happen('demo', { is: isRunning ? 'running' : 'stopped' })
      return (await readers.next()).p99Ms - sentMs
    },
    6,
  )
  expect(p99Ms).toBeLessThan(1_000)
})
