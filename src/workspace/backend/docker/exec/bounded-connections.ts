import type { Socket } from 'node:net'

/** Connection limit per listener, so that a workspace cannot exhaust the server's descriptors. */
const MAX_CONNECTIONS = 100

/** The connections of one listener inside a workspace. */
export class BoundedConnections {
  readonly #connections = new Set<Socket>()
  readonly #onConnection: (connection: Socket) => void

  constructor(onConnection: (connection: Socket) => void) {
    this.#onConnection = onConnection
  }

  add(connection: Socket): void {
    connection.on('error', () => undefined)
    if (this.#connections.size >= MAX_CONNECTIONS) return void connection.destroy()
    this.#connections.add(connection)
    connection.once('close', () => this.#connections.delete(connection))
    this.#onConnection(connection)
  }

  close(): void {
    for (const connection of this.#connections) connection.destroy()
  }
}
