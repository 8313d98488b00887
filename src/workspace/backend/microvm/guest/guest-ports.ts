import { unlinkSync } from 'node:fs'
import { createServer, type Server, type Socket } from 'node:net'
import { join } from 'node:path'
import type { Duplex } from 'node:stream'
import { hostPortSocket } from './guest-line.ts'

/** Of one guest at once, on all ports together. */
export const MAX_CONNECTIONS = 64

/**
 * Where a guest's connections to ports of its host come in: a Unix socket for each, beside the one that stands for the machine's
 * vsock and named after it and the port. Source: Firecracker's docs/vsock.md; vhost-device-vsock and our serial line do the same.
 */
export class GuestPorts {
  readonly #servers: readonly Server[]
  readonly #connections = new Set<Socket>()

  static async open(
    socketDir: string,
    ports: readonly number[],
    onConnection: (port: number, connection: Duplex) => void,
  ): Promise<GuestPorts> {
    const doors: GuestPorts = new GuestPorts(
      ports.map((port) =>
        createServer({ allowHalfOpen: true }, (socket) => {
          socket.on('error', () => undefined)
          // A guest that opens more has no use for them, and each is an open file of the server's.
          if (doors.#connections.size >= MAX_CONNECTIONS) {
            socket.destroy()
            return
          }
          doors.#connections.add(socket)
          socket.once('close', () => doors.#connections.delete(socket))
          onConnection(port, socket)
        }),
      ),
    )
    try {
      await Promise.all(
        doors.#servers.map((server, i) => listen(server, join(socketDir, hostPortSocket(ports[i] ?? 0)))),
      )
      return doors
    } catch (error) {
      doors.close()
      throw error
    }
  }

  private constructor(servers: readonly Server[]) {
    this.#servers = servers
  }

  /** Cuts off those that came in, too. */
  close(): void {
    for (const server of this.#servers) server.close()
    for (const connection of this.#connections) connection.destroy()
  }
}

async function listen(server: Server, path: string): Promise<void> {
  try {
    // Of a server that was here before.
    unlinkSync(path)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error
  }
  // A monitor may be another user; nobody else gets into the directory.
  await new Promise<void>((resolve, reject) =>
    server.once('error', reject).listen({ path, writableAll: true }, resolve),
  )
  server.unref()
}
