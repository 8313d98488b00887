import { afterAll, beforeAll, expect, test } from 'vitest'
import { serveNamespace } from '../../../src/workspace/client/serve-namespace.ts'
import { cuttableLink } from '../../support/http/cuttable-link.ts'
import { busClient } from '../../support/workspace/client/bus-client.ts'
import { FakeBackend } from '../../support/workspace/backend/fake-backend.ts'
import { waitFor } from '../../support/wait-for.ts'
import { startWorkspaceServer, type TestServer } from '../../support/workspace/server/test-server.ts'

const REQUESTS = 10_000
const IN_FLIGHT = 100
const CUTS = 40

let backend: FakeBackend
let server: TestServer
beforeAll(async () => {
  backend = new FakeBackend()
  server = await startWorkspaceServer({ backends: () => [backend] })
})
afterAll(() => server.stop())
const { connected } = busClient(() => ({ server, backend }))

test('10,000 requests, 100 at a time, are all answered and handled once while the listener’s connections are cut', async () => {
  const guest = await connected('demo', 30_000)
  const link = await cuttableLink(server.httpPort)
  const handled: string[] = []
  const stopped = new AbortController()
  let listens = 0
  const ended = serveNamespace(
    'demo',
    ({ id, payload }) => {
      handled.push(id)
      return { n: payload['n'] }
    },
    { server: { url: link.url }, signal: stopped.signal, onListening: () => void listens++ },
  )
  await waitFor('the listener', () => listens > 0)
  const failed: unknown[] = []
  let asked = 0
  let answered = 0
  const worker = async (): Promise<void> => {
    while (asked < REQUESTS) {
      const n = asked++
      const { status, body } = await guest.publish({ namespace: 'demo', payload: { n } })
      if (status === 200 && body?.payload?.n === n) answered++
      else failed.push([n, status, body])
    }
  }
  const done = Promise.all(Array.from({ length: IN_FLIGHT }, worker))
  for (let i = 1; i <= CUTS; i++) {
    await waitFor('a part', () => answered + failed.length >= (i * REQUESTS) / (CUTS + 1), 60_000)
    const before = listens
    link.cut()
    await waitFor('the reconnection', () => listens > before)
  }
  await done
  expect(failed).toEqual([])
  expect(answered).toBe(REQUESTS)
  expect(handled).toHaveLength(REQUESTS)
  expect(new Set(handled).size).toBe(REQUESTS)
  expect(listens).toBeGreaterThan(CUTS)
  stopped.abort()
  await ended
})
