import { createServer, type ListenOptions, type Socket } from 'node:net'
import type { Duplex } from 'node:stream'
import type { InsidePort } from '../../../../src/workspace/backend/backend.ts'

/** Listens on a port or a path of this machine; closing it closes its connections. */
export async function listenAt(
  at: ListenOptions,
  onConnection: (connection: Duplex) => void,
): Promise<InsidePort> {
  const connections = new Set<Socket>()
  const server = createServer({ allowHalfOpen: true }, (connection) => {
    connections.add(connection)
    onConnection(connection.on('error', () => undefined))
  })
  await new Promise<void>((resolve, reject) => server.once('error', reject).listen(at, resolve))
  const closed = new Promise<void>((resolve) => server.once('close', resolve))
  const close = (): void => {
    server.close()
    for (const connection of connections) connection.destroy()
  }
  return { closed, close }
}
