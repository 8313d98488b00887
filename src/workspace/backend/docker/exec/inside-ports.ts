import type { Socket } from 'node:net'
import { messageOf } from '../../../../lib/errors/message.ts'
import { isAlive } from '../../../../lib/process/is-alive.ts'
import { canDialNamespaces, listenInNamespace } from '../../../../native/net/netns.ts'
import { fault } from '../../../errors.ts'
import type { InsidePort } from '../../backend.ts'
import { BoundedConnections } from './bounded-connections.ts'
import type { ContainerProcess } from './dial.ts'

const ELSEWHERE = 'the server needs root on Linux, and the engine on the same machine'

interface OpenPort {
  readonly name: string
  readonly pid: number
  readonly port: InsidePort
}

/** Ports on which this process listens inside containers. */
export class InsidePorts {
  readonly #open = new Set<OpenPort>()

  /**
   * Listens on a TCP port of a container's loopback address; closing it closes its connections.
   *
   * @throws PORT_UNAVAILABLE when a program inside uses the port, or the container's network namespace cannot be entered
   */
  async listen(
    name: string,
    { id, pid }: ContainerProcess,
    port: number,
    onConnection: (connection: Socket) => void,
  ): Promise<InsidePort> {
    if (!canDialNamespaces() || pid <= 1) throw cannotListen(port, ELSEWHERE)
    const connections = new BoundedConnections(onConnection)
    try {
      const server = await listenInNamespace(pid, id, port, (each) => connections.add(each))
      // Listening inside a workspace must not keep this process alive.
      server.unref()
      const close = (): void => {
        server.close()
        connections.close()
      }
      const closed = new Promise<void>((resolve) => server.once('close', resolve))
      const entry = { name, pid, port: { closed, close } }
      this.#open.add(entry)
      void closed.then(() => this.#open.delete(entry))
      return entry.port
    } catch (error) {
      const isTaken = (error as NodeJS.ErrnoException).code === 'EADDRINUSE'
      throw cannotListen(
        port,
        isTaken ? 'a program inside uses it' : `${messageOf(error)}; ${ELSEWHERE}`,
        error,
      )
    }
  }

  /** Closes the ports of containers, by default of all, whose process exited: nothing can connect to them any more. */
  closeLost(container?: string): void {
    for (const { name, pid, port } of this.#open)
      if ((container === undefined || name === container) && !isAlive(pid)) port.close()
  }
}

function cannotListen(port: number, why: string, cause?: unknown) {
  return fault(
    'PORT_UNAVAILABLE',
    `the server cannot listen on port ${port} inside the workspace: ${why}`,
    cause,
  )
}
