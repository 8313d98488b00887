import { once } from 'node:events'
import { connect } from 'node:net'
import { expect, test } from 'vitest'
import { hostOptions, isConnectError, isLocalhost } from '../../../src/lib/connection/localhost.ts'
import { messageOf } from '../../../src/lib/errors/message.ts'
import { startLoopbackServer } from '../../support/http/loopback-server.ts'
import { freePort } from '../../support/services/free-port.ts'

test.each([
  ['localhost', true],
  ['LocalHost.', true],
  ['web.localhost', true],
  ['localhost.example', false],
  ['notlocalhost', false],
  ['.localhost', false],
  ['127.0.0.1', false],
  ['::1', false],
])('%s is a name of this machine: %s', (host, isName) => expect(isLocalhost(host)).toBe(isName))

test.each(['127.0.0.1', '::1'] as const)(
  'localhost reaches a program that listens on %s only',
  async (address) => {
    const { port } = await startLoopbackServer(address)
    for (const host of ['localhost', 'LOCALHOST', 'web.localhost.']) {
      const socket = connect({ ...hostOptions(host), port })
      await once(socket, 'connect')
      expect(socket.remoteAddress, host).toBe(address)
      socket.destroy()
    }
  },
)

test('an address is not another name of localhost', async () => {
  const { port } = await startLoopbackServer('::1')
  const socket = connect({ ...hostOptions('127.0.0.1'), port })
  await expect(once(socket, 'connect')).rejects.toMatchObject({ code: 'ECONNREFUSED', syscall: 'connect' })
})

test('a port of localhost on which nothing listens is refused, and both addresses are named', async () => {
  const port = await freePort()
  const socket = connect({ ...hostOptions('localhost'), port })
  const error: unknown = await once(socket, 'connect').catch((reason: unknown) => reason)
  expect(error).toMatchObject({ code: 'ECONNREFUSED' })
  expect(isConnectError(error)).toBe(true)
  expect(messageOf(error)).toBe(`connect ECONNREFUSED 127.0.0.1:${port}; connect ECONNREFUSED ::1:${port}`)
  expect(isConnectError(new Error('read ECONNRESET'))).toBe(false)
})
