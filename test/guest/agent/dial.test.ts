import { once } from 'node:events'
import { createServer, type AddressInfo, type Socket } from 'node:net'
import { text } from 'node:stream/consumers'
import { duplexPair } from 'node:stream'
import { expect, onTestFinished, test } from 'vitest'
import { serveDial } from '../../../guest/agent/dial.ts'
import { DIAL_CHANNEL } from '../../../src/lib/guest/protocol.ts'
import { Mux } from '../../../src/lib/mux/mux.ts'
import { freePort } from '../../support/services/free-port.ts'

test.each(['127.0.0.1', '::1'])(
  'a tunnel reaches a program that listens on %s only, and stays half-open',
  async (address) => {
    const server = createServer({ allowHalfOpen: true }, (socket: Socket) => {
      void text(socket).then((received) => socket.end(`got ${received}`))
    }).listen(0, address)
    await once(server, 'listening')
    onTestFinished(() => void server.close())
    const [host, guest] = duplexPair()
    await serveDial((server.address() as AddressInfo).port, () => guest)
    const channel = new Mux(host, { isFirst: true }).channel(DIAL_CHANNEL)
    channel.end('hello')
    expect(await text(channel)).toBe('got hello')
  },
)

test('a tunnel to a port on which nothing listens fails before the connection is accepted', async () => {
  const accept = () => expect.unreachable()
  await expect(serveDial(await freePort(), accept)).rejects.toMatchObject({
    code: 'CONNECT_FAILED',
    message: expect.stringContaining('ECONNREFUSED 127.0.0.1'),
  })
})
