import type { Duplex } from 'node:stream'
import { messageOf } from '../../../../lib/errors/message.ts'
import { AGENT_PORT, DIAL_CHANNEL, type GuestSocket } from '../../../../lib/guest/protocol.ts'
import { Mux } from '../../../../lib/mux/mux.ts'
import { fault } from '../../../errors.ts'
import type {
  BackendAccess,
  ExecProcess,
  ExecRequest,
  InsideListener,
  InsidePort,
  LoginEnvironment,
} from '../../backend.ts'
import { readLoginEnvironment } from '../../login-environment.ts'
import { type AgentPulse, askGuest, GuestRefusal } from './ask-guest.ts'
import { execInGuest } from './guest-exec.ts'
import { type GuestDial, openSession } from './guest-session.ts'

/** Parameters for entering a running VM. */
export interface GuestReach {
  /** Connects to a vsock port inside; rejects while nothing listens on it, as in a suspended VM. */
  readonly dialGuest: (port: number) => Promise<Duplex>
  /** Environment of every program, in addition to the image's. */
  readonly environment: Readonly<Record<string, string>>
  /** Default user of programs; the image's own user when absent. */
  readonly user?: string
  /** How often the agent is asked for a sign of life; undefined if connections always report that they break. */
  readonly pingMs?: number
  /** Changes with every boot of the VM, and not when it resumes. */
  readonly bootKey: string
}

/** Facts about a VM that hold until its next boot. */
interface Boot {
  readonly key: string
  readonly pulse: AgentPulse
  login: LoginEnvironment | undefined
}

/** Returns the channel of a dialed port; closing it closes the connection. */
function dialled(connection: Duplex): Duplex {
  const mux = new Mux(connection, { isFirst: true })
  const channel = mux.channel(DIAL_CHANNEL)
  let hasFailed = false
  channel.once('error', () => (hasFailed = true))
  channel.once('close', () => {
    if (hasFailed || !channel.readableEnded) mux.close()
    else mux.end()
  })
  return channel
}

/** Reports each channel that the guest opens; closing the mux closes the connection. */
function acceptChannels(connection: Duplex, onChannel: (channel: Duplex) => void): Mux {
  return new Mux(connection, {
    isFirst: true,
    onChannel: (channel) => onChannel(channel.on('error', () => undefined)),
  })
}

/** Enters running VMs through their agents; any number of processes may do so concurrently. */
export class GuestClient implements BackendAccess {
  readonly #reach: (name: string) => Promise<GuestReach>
  readonly #boots = new Map<string, Boot>()

  /** @param reach looks up a running or suspended VM; rejects with WORKSPACE_NOT_RUNNING when there is none */
  constructor(reach: (name: string) => Promise<GuestReach>) {
    this.#reach = reach
  }

  async exec(name: string, request: ExecRequest): Promise<ExecProcess> {
    const { environment, ...rest } = request
    const reach = await this.#reach(name)
    return execInGuest(this.#dialOf(name, reach), {
      ...(reach.user !== undefined && { user: reach.user }),
      ...rest,
      stdin: request.stdin ?? true,
      environment: { ...reach.environment, ...environment },
    })
  }

  /** Connects to a port inside the workspace. @throws CONNECT_FAILED when nothing accepts the connection */
  async dial(name: string, port: number): Promise<Duplex> {
    const dial = this.#dialOf(name, await this.#reach(name))
    try {
      return dialled((await openSession(dial, { do: 'dial', port })).connection)
    } catch (error) {
      if (!(error instanceof GuestRefusal)) throw error
      throw fault(
        'CONNECT_FAILED',
        `port ${port} inside the workspace cannot be reached: ${error.message}`,
        error,
      )
    }
  }

  canListenInside(): boolean {
    return true
  }

  async listenInside(name: string, onConnection: (connection: Duplex) => void): Promise<InsideListener> {
    const reach = await this.#reach(name)
    const { connection, answer } = await openSession<GuestSocket>(this.#dialOf(name, reach), {
      do: 'listen',
      ...(reach.user !== undefined && { user: reach.user }),
    })
    const mux = acceptChannels(connection, onConnection)
    return {
      path: answer.path,
      close() {
        mux.close()
        return Promise.resolve()
      },
    }
  }

  /**
   * Listens on a port inside the workspace, until the connection to the agent is lost: the port must be free for another server.
   *
   * @throws PORT_UNAVAILABLE when the agent cannot
   */
  async listenPort(
    name: string,
    port: number,
    onConnection: (connection: Duplex) => void,
  ): Promise<InsidePort> {
    const connection = await this.#dialAgent(name, await this.#reach(name))
    try {
      await askGuest(connection, { do: 'listen-port', port })
    } catch (error) {
      if (!(error instanceof GuestRefusal)) throw error
      throw fault(
        'PORT_UNAVAILABLE',
        `the server cannot listen on port ${port} inside the workspace: ${error.message}`,
        error,
      )
    }
    const mux = acceptChannels(connection, onConnection)
    const closed = new Promise<void>((resolve) => connection.once('close', () => resolve()))
    return { closed, close: () => mux.close() }
  }

  async loginEnvironment(name: string): Promise<LoginEnvironment> {
    const { bootKey } = await this.#reach(name)
    const boot = this.#bootOf(name, bootKey)
    boot.login ??= await readLoginEnvironment(name, (argv, user) =>
      this.exec(name, { argv, stdin: false, ...(user !== undefined && { user }) }),
    )
    return boot.login
  }

  /** Returns what connects to the agent of this start of the workspace, again and again; not to that of a later one. */
  #dialOf(name: string, first: GuestReach): GuestDial {
    let reach: GuestReach | undefined = first
    const connect = async (): Promise<Duplex> => {
      const now = reach ?? (await this.#reach(name))
      reach = undefined
      if (now.bootKey === first.bootKey) return this.#dialAgent(name, now)
      throw fault('WORKSPACE_NOT_RUNNING', `workspace "${name}" has been started again`)
    }
    return { connect, pingMs: first.pingMs, pulse: this.#bootOf(name, first.bootKey).pulse }
  }

  #bootOf(name: string, key: string): Boot {
    const known = this.#boots.get(name)
    if (known?.key === key) return known
    const boot: Boot = { key, pulse: { lastMs: 0 }, login: undefined }
    this.#boots.set(name, boot)
    return boot
  }

  async #dialAgent(name: string, { dialGuest }: GuestReach): Promise<Duplex> {
    try {
      return await dialGuest(AGENT_PORT)
    } catch (error) {
      throw fault('BACKEND_ERROR', `workspace "${name}" cannot be entered: ${messageOf(error)}`, error)
    }
  }
}
