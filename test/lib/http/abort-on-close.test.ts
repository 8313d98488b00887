import { once } from 'node:events'
import { request } from 'node:http'
import type { AddressInfo } from 'node:net'
import Fastify from 'fastify'
import { expect, onTestFinished, test } from 'vitest'
import { abortOnClose, ClientDisconnected } from '../../../src/lib/http/abort-on-close.ts'

test.each([
  ['before the work begins', true],
  ['during the work', false],
])('a client that disconnects %s aborts it', async (_when, isBefore) => {
  const app = Fastify({ forceCloseConnections: true })
  onTestFinished(() => app.close())
  const arrived = Promise.withResolvers<void>()
  const aborted = Promise.withResolvers<unknown>()
  app.get('/', async (_request, reply) => {
    const closed = once(reply.raw, 'close')
    arrived.resolve()
    if (isBefore) await closed
    const signal = abortOnClose(reply)
    if (!signal.aborted) await once(signal, 'abort')
    aborted.resolve(signal.reason)
    return ''
  })
  await app.listen({ host: '127.0.0.1', port: 0 })
  const { port } = app.server.address() as AddressInfo
  const asked = request({ host: '127.0.0.1', port }).on('error', () => undefined)
  asked.end()
  await arrived.promise
  asked.destroy()
  expect(await aborted.promise).toBeInstanceOf(ClientDisconnected)
})
