import type { Duplex } from 'node:stream'
import type { Channel, Connection } from '../../../lib/ssh/ssh2.ts'
import type { Logger } from '../../../lib/log/logger.ts'
import type { InsideListener } from '../../backend/backend.ts'
import type { WorkspaceAccess } from './workspace-resolver.ts'
import { joinChannel } from './join-channel.ts'

/** The window and packet size that ssh2 1.17.0 gives its own channels. */
const WINDOW_BYTES = 2 * 2 ** 20
const PACKET_BYTES = 32 * 2 ** 10

type Opened = ((error: Error | undefined, channel?: Channel) => void) & { type?: string }

/** The private fields with which an ssh2 1.17.0 server opens a channel. It has a method for every channel type except this one. */
interface ConnectionInternals {
  readonly _chanMgr: { add(opened: Opened): number }
  readonly _protocol: { openssh_authAgent(channel: number, windowBytes: number, packetBytes: number): void }
}

/**
 * Forwards the SSH agent of one connection's client (`ssh -A`) into the workspace, through a socket that is removed when the
 * connection closes. The first session that requests forwarding creates the socket; later ones share it.
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
      this.#listener
        ?.then((listener) => listener.close())
        .catch((error: unknown) =>
          logger.debug({ err: error }, 'the socket of a forwarded agent was not closed'),
        )
    })
  }

  /** Returns the socket's path inside the workspace, or undefined if the socket could not be created. */
  async listen({ backend, name }: WorkspaceAccess): Promise<string | undefined> {
    this.#listener ??= backend.listenInside(name, (inside) => this.#forward(inside))
    try {
      const listener = await this.#listener
      // The connection closed first, so its close handler did not remove the socket.
      if (this.#isClosed) await listener.close()
      return listener.path
    } catch (error) {
      this.#logger.warn({ err: error, workspace: name }, 'SSH agent forwarding failed')
      return undefined
    }
  }

  #forward(inside: Duplex): void {
    openAgentChannel(this.#connection)
      .then((channel) => joinChannel(channel, inside))
      .catch((error: unknown) => {
        this.#logger.debug({ err: error }, 'the SSH client refused to open an agent channel')
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
