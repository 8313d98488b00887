import { expect, onTestFinished, test } from 'vitest'
import { openEventReaders } from '../../../support/workspace/client/event-readers.ts'
import { FakeBackend } from '../../../support/workspace/backend/fake-backend.ts'
import { startWorkspaceServer } from '../../../support/workspace/server/test-server.ts'

test('F28 two thousand readers receive each event', async () => {
  const backend = new FakeBackend()
  const server = await startWorkspaceServer({ backends: () => [backend] })
  onTestFinished(() => server.stop())
  await server.create({ name: 'demo' })
  const readers = openEventReaders(`${server.url}/api/events`, 2_000)
  onTestFinished(() => readers.stop())
  const { id } = await readers.next()
  // bench/workspace/events.ts measures how soon.
  for (const [index, is] of (['stopped', 'running'] as const).entries()) {
    backend.happen('demo', { is })
    expect((await readers.next()).id).toBe(id + index + 1)
  }
})
