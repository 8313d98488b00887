import { once } from 'node:events'
import { connect, createServer, Socket } from 'node:net'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { loadAddon } from '../../../src/native/load.ts'
import { acknowledgeNow, limitBackoff, silenceOf } from '../../../src/native/net/tcp.ts'
import { tempDir } from '../../support/temp-dir.ts'

async function accepted(listen: { readonly port: number } | { readonly path: string }): Promise<Socket> {
  const server = createServer().listen(listen)
  onTestFinished(() => void server.close())
  await once(server, 'listening')
  const address = server.address()
  const client = typeof address === 'string' ? connect(address) : connect((address as AddressInfo).port)
  onTestFinished(() => void client.destroy())
  const [socket] = (await once(server, 'connection')) as [Socket]
  onTestFinished(() => void socket.destroy())
  return socket
}

// oxlint-disable-next-line no-underscore-dangle
const descriptorOf = (socket: Socket) => (socket as unknown as { _handle: { fd: number } })._handle.fd

test.runIf(process.platform === 'linux')('the options of a TCP connection are set', async () => {
  const loaded = loadAddon()
  if (loaded.is !== 'loaded') throw new Error(loaded.reason)
  const [tcp, unix] = [await accepted({ port: 0 }), await accepted({ path: join(tempDir(), 'socket') })]
  expect(loaded.addon.acknowledgeNow(descriptorOf(tcp))).toBe(true)
  expect(loaded.addon.acknowledgeNow(descriptorOf(unix))).toBe(false)
  expect(loaded.addon.limitBackoff(descriptorOf(unix), 1_000)).toBe(false)
  expect(silenceOf(tcp)).toBe(0)
  expect(silenceOf(unix)).toBeUndefined()
})

test('a closed or unconnected socket is ignored', async () => {
  const closed = await accepted({ port: 0 })
  closed.destroy()
  await once(closed, 'close')
  for (const socket of [closed, new Socket()]) {
    expect(() => acknowledgeNow(socket)).not.toThrow()
    expect(() => limitBackoff(socket, 1_000)).not.toThrow()
    expect(silenceOf(socket)).toBeUndefined()
  }
})
