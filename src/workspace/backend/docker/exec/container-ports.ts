import type { Socket } from 'node:net'
import type { Duplex } from 'node:stream'
import { messageOf } from '../../../../lib/errors/message.ts'
import { isAlive } from '../../../../lib/process/is-alive.ts'
import { canDialNamespaces, listenInNamespace } from '../../../../native/net/netns.ts'
import { fault } from '../../../errors.ts'
import type { ExecProcess, InsidePort } from '../../backend.ts'
import { BoundedConnections } from './bounded-connections.ts'
import { type ContainerProcess, dialContainer, dialProcess } from './dial.ts'

const ELSEWHERE = 'the server needs root on Linux, and the engine on the same machine'

interface OpenPort {
  readonly name: string
  readonly pid: number
  readonly port: InsidePort
}

/** Connects to ports inside containers, and listens on them. */
export class ContainerPorts {
  readonly #find: (name: string) => Promise<ContainerProcess>
  readonly #exec: (name: string, argv: readonly string[]) => Promise<ExecProcess>
  /**
   * Main processes by workspace, as last reported. Each use verifies that the process still belongs to the
   * container.
   */
  readonly #processes = new Map<string, ContainerProcess>()
  readonly #open = new Set<OpenPort>()

  /**
   * @param find asks the engine for a container's main process
   * @param exec runs a program in a container
   */
  constructor(
    find: (name: string) => Promise<ContainerProcess>,
    exec: (name: string, argv: readonly string[]) => Promise<ExecProcess>,
  ) {
    this.#find = find
    this.#exec = exec
  }

  /** Connects to a port. @throws CONNECT_FAILED when nothing accepts the connection */
  async dial(name: string, port: number): Promise<Duplex> {
    const cached = this.#processes.get(name)
    const stream = cached && (await dialProcess(cached, port))
    if (stream !== undefined) return stream
    const process = await this.#find(name)
    this.#processes.set(name, process)
    return dialContainer(process, port, (argv) => this.#exec(name, argv))
  }

  /**
   * Listens on a TCP port of a container's loopback address; closing it closes its connections.
   *
   * @throws PORT_UNAVAILABLE when a program inside uses the port, or the container's network namespace cannot be entered
   */
  async listen(name: string, port: number, onConnection: (connection: Socket) => void): Promise<InsidePort> {
    const { id, pid } = await this.#find(name)
    if (pid === 0) throw cannotListen(port, 'its container is not running')
    if (!canDialNamespaces()) throw cannotListen(port, ELSEWHERE)
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

  /** Forgets a container that has changed, by default all, and closes ports whose container exited: nothing can connect to them any more. */
  refresh(container?: string): void {
    if (container === undefined) this.#processes.clear()
    else this.#processes.delete(container)
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
