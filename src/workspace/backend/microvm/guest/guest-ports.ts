import { unlinkSync } from 'node:fs'
import { createServer, type Server, type Socket } from 'node:net'
import { join } from 'node:path'
import type { Duplex } from 'node:stream'
import { hostPortSocket } from './guest-line.ts'

/** Connection limit of one guest across all ports. */
export const MAX_CONNECTIONS = 64

/**
 * Listens for a guest's connections to host ports: one Unix socket per port, beside the socket that
 * represents the VM's vsock and named after it and the port. Source: Firecracker's docs/vsock.md;
 * vhost-device-vsock and our serial line do the same.
 */
export class GuestPorts {
  readonly #servers: readonly Server[]
  readonly #connections = new Set<Socket>()

  static async open(
    socketDir: string,
    ports: readonly number[],
    onConnection: (port: number, connection: Duplex) => void,
  ): Promise<GuestPorts> {
    const guestPorts: GuestPorts = new GuestPorts(
      ports.map((port) =>
        createServer({ allowHalfOpen: true }, (socket) => {
          socket.on('error', () => undefined)
          // A guest has no use for more, and each connection costs the server a file descriptor.
          if (guestPorts.#connections.size >= MAX_CONNECTIONS) {
            socket.destroy()
            return
          }
          guestPorts.#connections.add(socket)
          socket.once('close', () => guestPorts.#connections.delete(socket))
          onConnection(port, socket)
        }),
      ),
    )
    try {
      await Promise.all(
        guestPorts.#servers.map((server, i) =>
          listen(server, join(socketDir, hostPortSocket(ports[i] ?? 0))),
        ),
      )
      return guestPorts
    } catch (error) {
      guestPorts.close()
      throw error
    }
  }

  private constructor(servers: readonly Server[]) {
    this.#servers = servers
  }

  /** Stops listening and closes the accepted connections. */
  close(): void {
    for (const server of this.#servers) server.close()
    for (const connection of this.#connections) connection.destroy()
  }
}

async function listen(server: Server, path: string): Promise<void> {
  try {
    // Left behind by an earlier server.
    unlinkSync(path)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error
  }
  // The monitor may run as another user; nobody else can enter the directory.
  await new Promise<void>((resolve, reject) =>
    server.once('error', reject).listen({ path, writableAll: true }, resolve),
  )
  server.unref()
}
