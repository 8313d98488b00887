import type { Duplex } from 'node:stream'
import type { Channel, Connection } from '../../../lib/ssh/ssh2.ts'
import type { Logger } from '../../../lib/log/logger.ts'
import type { InsideListener } from '../../backend/backend.ts'
import type { Entered } from './gate.ts'
import { joinChannel } from './join-channel.ts'

/** What ssh2 1.17.0 gives its own channels. */
const WINDOW_BYTES = 2 * 2 ** 20
const PACKET_BYTES = 32 * 2 ** 10

type Opened = ((error: Error | undefined, channel?: Channel) => void) & { type?: string }

/** The private fields by which an ssh2 1.17.0 server opens a channel; it has a method for every type but this one. */
interface ConnectionInternals {
  readonly _chanMgr: { add(opened: Opened): number }
  readonly _protocol: { openssh_authAgent(channel: number, windowBytes: number, packetBytes: number): void }
}

/**
 * Lets programs in the workspace use the agent of one connection's client (`ssh -A`), by a socket that goes when the
 * connection does. It is made when a session first asks, and used by the sessions that do.
 */
export class AgentForward {
  readonly #connection: Connection
  readonly #logger: Logger
  #listener: Promise<InsideListener> | undefined
  #isClosed = false

  constructor(connection: Connection, logger: Logger) {
    this.#connection = connection
    this.#logger = logger
    connection.once('close', () => {
      this.#isClosed = true
      void this.#listener?.then((listener) => listener.close()).catch(() => undefined)
    })
  }

  /** The socket's path inside the workspace; undefined when there is none after all. */
  async listen({ backend, name }: Entered): Promise<string | undefined> {
    this.#listener ??= backend.listenInside(name, (inside) => this.#forward(inside))
    try {
      const listener = await this.#listener
      // The connection's end came first, and asked nobody to take the socket away.
      if (this.#isClosed) await listener.close()
      return listener.path
    } catch (error) {
      this.#logger.warn({ err: error, workspace: name }, 'an SSH agent cannot be forwarded')
      return undefined
    }
  }

  #forward(inside: Duplex): void {
    openAgentChannel(this.#connection)
      .then((channel) => joinChannel(channel, inside))
      .catch((error: unknown) => {
        this.#logger.debug({ err: error }, 'an SSH client refused its agent')
        inside.destroy()
      })
  }
}

function openAgentChannel(connection: Connection): Promise<Channel> {
  const { _chanMgr: channels, _protocol: protocol } = connection as unknown as ConnectionInternals
  return new Promise((resolve, reject) => {
    const opened: Opened = (error, channel) =>
      channel === undefined ? reject(error ?? new Error('no channel')) : resolve(channel)
    opened.type = 'auth-agent@openssh.com'
    const channel = channels.add(opened)
    if (channel === -1) return reject(new Error('the connection has no channel left'))
    protocol.openssh_authAgent(channel, WINDOW_BYTES, PACKET_BYTES)
  })
}
