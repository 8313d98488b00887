import { once } from 'node:events'
import { createServer, type RequestListener } from 'node:http'
import type { AddressInfo } from 'node:net'
import { expect, onTestFinished, test } from 'vitest'
import { publish } from '../../../src/lib/guest/publish.ts'

/** Publishes to an agent that responds in this way. */
async function publishTo(respond: RequestListener, timeoutMs?: number) {
  const agent = createServer(respond).listen(0, '127.0.0.1')
  await once(agent, 'listening')
  onTestFinished(() => agent.closeAllConnections())
  onTestFinished(() => void agent.close())
  const agentUrl = `http://127.0.0.1:${(agent.address() as AddressInfo).port}`
  return publish('demo', {}, { agentUrl, ...(timeoutMs !== undefined && { timeoutMs }) })
}

test('a request resolves to the payload of its response', async () => {
  expect(await publishTo((_, response) => response.end('{"payload": {"a": 1}}'))).toEqual({ a: 1 })
})

test('a response whose body does not arrive in time is a timeout', async () => {
  const stalled: RequestListener = (_, response) => void response.write('{"payload": ')
  await expect(publishTo(stalled, 50)).rejects.toMatchObject({ code: 'TIMEOUT' })
})

test.each(['', '[]', '{"payload": 1}', '{'])('the response %j has no payload', async (text) => {
  await expect(publishTo((_, response) => response.end(text))).rejects.toMatchObject({
    code: 'INTERNAL_ERROR',
  })
})
