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
import { askGuest, GuestRefusal } from './ask-guest.ts'
import { execInGuest } from './guest-exec.ts'

/** Parameters for entering a running VM. */
export interface GuestReach {
  /** Connects to a vsock port inside; rejects while nothing listens on it. */
  readonly dialGuest: (port: number) => Promise<Duplex>
  /** Environment of every program, in addition to the image's. */
  readonly environment: Readonly<Record<string, string>>
  /** Default user of programs; the image's own user when absent. */
  readonly user?: string
  /** Changes with every start of the VM. */
  readonly bootKey: string
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
  readonly #logins = new Map<string, { readonly bootKey: string; readonly login: LoginEnvironment }>()

  /** @param reach looks up a running VM; rejects when there is none */
  constructor(reach: (name: string) => Promise<GuestReach>) {
    this.#reach = reach
  }

  async exec(name: string, request: ExecRequest): Promise<ExecProcess> {
    const { environment, ...rest } = request
    const reach = await this.#reach(name)
    return execInGuest(await this.#dialAgent(name, reach), {
      ...(reach.user !== undefined && { user: reach.user }),
      ...rest,
      stdin: request.stdin ?? true,
      environment: { ...reach.environment, ...environment },
    })
  }

  /** Connects to a port inside the workspace. @throws CONNECT_FAILED when nothing accepts the connection */
  async dial(name: string, port: number): Promise<Duplex> {
    const connection = await this.#dialAgent(name, await this.#reach(name))
    try {
      await askGuest(connection, { do: 'dial', port })
      return dialled(connection)
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
    const connection = await this.#dialAgent(name, reach)
    const { path } = await askGuest<GuestSocket>(connection, {
      do: 'listen',
      ...(reach.user !== undefined && { user: reach.user }),
    })
    const mux = acceptChannels(connection, onConnection)
    return {
      path,
      close() {
        mux.close()
        return Promise.resolve()
      },
    }
  }

  /** Listens on a port inside the workspace. @throws PORT_UNAVAILABLE when the agent cannot */
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
    const cached = this.#logins.get(name)
    if (cached?.bootKey === bootKey) return cached.login
    const login = await readLoginEnvironment(name, (argv, user) =>
      this.exec(name, { argv, stdin: false, ...(user !== undefined && { user }) }),
    )
    this.#logins.set(name, { bootKey, login })
    return login
  }

  async #dialAgent(name: string, { dialGuest }: GuestReach): Promise<Duplex> {
    try {
      return await dialGuest(AGENT_PORT)
    } catch (error) {
      throw fault('BACKEND_ERROR', `workspace "${name}" cannot be entered: ${messageOf(error)}`, error)
    }
  }
}
