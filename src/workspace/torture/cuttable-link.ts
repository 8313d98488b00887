import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net'
import { resetSocket } from '../../lib/process/reset-socket.ts'

/** A port of 127.0.0.1 that relays another one, over connections that can be cut. */
export class CuttableLink {
  readonly port: number
  readonly #server: Server
  readonly #sockets: Set<Socket>

  private constructor(server: Server, sockets: Set<Socket>) {
    this.port = (server.address() as AddressInfo).port
    this.#server = server
    this.#sockets = sockets
  }

  /** @param target returns the port of 127.0.0.1 to which a new connection is relayed; undefined refuses it */
  static async open(target: () => number | undefined): Promise<CuttableLink> {
    const sockets = new Set<Socket>()
    const server = createServer({ allowHalfOpen: true }, (near) => {
      const port = target()
      if (port === undefined) {
        resetSocket(near.on('error', () => undefined))
        return
      }
      const far = connect({ port, host: '127.0.0.1', allowHalfOpen: true })
      for (const [from, to] of [
        [near, far],
        [far, near],
      ] as const) {
        sockets.add(from)
        from
          .on('error', () => resetSocket(to))
          .on('close', () => {
            sockets.delete(from)
            to.destroy()
          })
        from.pipe(to)
      }
    })
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    return new CuttableLink(server, sockets)
  }

  /** Resets every connection; returns their number. */
  cut(): number {
    const count = this.#sockets.size / 2
    for (const socket of this.#sockets) resetSocket(socket)
    return count
  }

  close(): void {
    this.#server.close()
    this.cut()
  }
}
