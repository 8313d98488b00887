import { once } from 'node:events'
import { type AddressInfo, createServer, type Socket } from 'node:net'
import { expect, onTestFinished, test } from 'vitest'
import { openTunnelTo } from '../../../src/workspace/client/open-tunnel-to.ts'

/** Starts a server that handles raw connections. */
async function serverThat(answer: (socket: Socket) => void) {
  const server = createServer({ allowHalfOpen: true }, (socket) => {
    socket.on('error', () => undefined)
    onTestFinished(() => void socket.destroy())
    answer(socket)
  })
  await once(server.listen(0, '127.0.0.1'), 'listening')
  onTestFinished(() => void server.close())
  return { name: 'test', url: `http://127.0.0.1:${(server.address() as AddressInfo).port}` }
}

const HEAD = 'HTTP/1.1 404 Not Found\r\ncontent-type: application/json\r\ncontent-length: 1000\r\n\r\n'

test.each<readonly [string, (socket: Socket) => void]>([
  ['resets at once', (socket) => void socket.resetAndDestroy()],
  ['ends without a response', (socket) => void socket.end()],
  ['ends within the head', (socket) => void socket.end('HTTP/1.1 10')],
  ['ends within a refusal', (socket) => void socket.end(`${HEAD}{"error`)],
  ['resets within a refusal', (socket) => void socket.write(HEAD, () => socket.resetAndDestroy())],
  ['sends something else', (socket) => void socket.end('SSH-2.0-other\r\n')],
])('a tunnel through a server that %s is refused', async (_name, answer) => {
  const server = await serverThat((socket) => socket.once('data', () => answer(socket)))
  await expect(openTunnelTo(server, '/')).rejects.toMatchObject({ code: 'SERVER_UNREACHABLE' })
})

test('a signal ends the wait for a server that does not respond', async () => {
  const controller = new AbortController()
  const server = await serverThat((socket) => socket.once('data', () => controller.abort()))
  const opening = openTunnelTo(server, '/', { signal: controller.signal })
  await expect(opening).rejects.toMatchObject({ code: 'SERVER_UNREACHABLE' })
})
