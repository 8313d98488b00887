import { afterAll, beforeAll, expect, test } from 'vitest'
import { serveNamespace } from '../../../../src/workspace/client/serve-namespace.ts'
import { busClient } from '../../../support/workspace/bus-client.ts'
import { FakeBackend } from '../../../support/workspace/fake-backend.ts'
import { waitFor } from '../../../support/wait-for.ts'
import { startWorkspaceServer, type TestServer } from '../../../support/workspace/workspace-server.ts'

const REQUESTS = 10_000
const IN_FLIGHT = 100
const RECONNECTIONS = 20

let backend: FakeBackend
let server: TestServer
beforeAll(async () => {
  backend = new FakeBackend()
  server = await startWorkspaceServer({
    backends: () => [backend],
    settings: { bus: { request_timeout: '1s' } },
  })
})
afterAll(() => server.stop())
const { connected } = busClient(() => ({ server, backend }))

test('10,000 requests, 100 at a time, are each answered once or expire while the listener reconnects', async () => {
  const guest = await connected('demo', 1_000)
  const taken: string[] = []
  let expired = 0
  const answered = new Map<number, number>()
  let listener: AbortController | undefined
  let ended: Promise<void> | undefined
  let asked = 0
  const listen = async (): Promise<void> => {
    const controller = new AbortController()
    const listening = Promise.withResolvers<void>()
    ended = serveNamespace(
      'demo',
      ({ id, payload }) => {
        taken.push(id)
        return { n: payload['n'] }
      },
      {
        server: { url: server.url },
        signal: controller.signal,
        onListening: listening.resolve,
      },
    )
    listener = controller
    await listening.promise
  }
  await listen()
  /** Returns false if the request was in flight to a closed stream: its sender gets an error and retries. */
  const isAnswered = async (n: number): Promise<boolean> => {
    const { status, body } = await guest.publish({ namespace: 'demo', payload: { n } })
    if (status === 504) return false
    expect([status, body?.payload?.n]).toEqual([200, n])
    answered.set(n, (answered.get(n) ?? 0) + 1)
    return true
  }
  const worker = async (): Promise<void> => {
    while (asked < REQUESTS) {
      const n = asked++
      while (!(await isAnswered(n))) expired++
    }
  }
  const done = Promise.all(Array.from({ length: IN_FLIGHT }, worker))
  for (let i = 1; i < RECONNECTIONS; i++) {
    await waitFor('a part', () => answered.size >= (i * REQUESTS) / RECONNECTIONS, 60_000)
    listener?.abort()
    await ended
    await listen()
  }
  await done
  expect(answered.size).toBe(REQUESTS)
  expect(Math.max(...answered.values())).toBe(1)
  // No request reaches a listener twice, and only those lost with a stream were retried.
  expect(new Set(taken).size).toBe(taken.length)
  expect(taken.length).toBeLessThanOrEqual(REQUESTS + expired)
  expect(expired).toBeLessThan(IN_FLIGHT * RECONNECTIONS)
  listener?.abort()
  await ended
})
