import { once } from 'node:events'
import { type AddressInfo, createServer, type Socket } from 'node:net'
import { onTestFinished } from 'vitest'

/** A raw upstream: it records what each connection sends and passes each chunk to the test. */
export async function startRawUpstream(onData: (socket: Socket, received: string) => unknown) {
  const received: string[] = []
  const sockets = new Set<Socket>()
  const server = createServer((socket) => {
    const at = received.push('') - 1
    sockets.add(socket)
    socket.on('error', () => undefined)
    socket.on('data', (bytes: Buffer) => {
      received[at] += bytes.toString('latin1')
      onData(socket, received[at] ?? '')
    })
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  onTestFinished(() => {
    for (const socket of sockets) socket.destroy()
    server.close()
  })
  return { port: (server.address() as AddressInfo).port, received }
}
