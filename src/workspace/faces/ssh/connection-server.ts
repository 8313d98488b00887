import { setMaxListeners } from 'node:events'
import type { Socket } from 'node:net'
import { setTimeout as delay } from 'node:timers/promises'
import ssh2, { type Connection, type ServerConfig, type ServerChannel } from '../../../lib/ssh/ssh2.ts'
import { isFault } from '../../../lib/errors/fault.ts'
import type { Logger } from '../../../lib/log/logger.ts'
import { resetSocket } from '../../../lib/process/reset-socket.ts'
import { noticeLoss } from '../../../lib/connection/notice-loss.ts'
import { acknowledgeNow } from '../../../native/net/tcp.ts'
import type { ExecProcess } from '../../backend/backend.ts'
import { AgentForward } from './agent-forward.ts'
import { authenticate, type Login, type LoginRefusal } from './authenticate.ts'
import type { KeyRule } from './authorized-keys.ts'
import type { LoginName, WorkspaceAccess, WorkspaceResolver } from './workspace-resolver.ts'
import { type AccessResult, serveSession } from './session.ts'
import { channelRefuser, type Refusal } from '../../../lib/ssh/refuse-channel.ts'
import { HYBRID_EXCHANGES } from '../../../lib/ssh/hybrid-exchange.ts'
import { fixRequests } from '../../../lib/ssh/request-fix.ts'
import { fixWindows } from './window-fix.ts'
import { refuseDenied } from '../../tunnel/denied-ports.ts'
import { joinChannel } from './join-channel.ts'

/** Secure algorithms that ssh2 really implements: by default it offers group exchange, which it cannot perform (threat S6). */
const ALGORITHMS: NonNullable<ServerConfig['algorithms']> = {
  kex: [...HYBRID_EXCHANGES, 'curve25519-sha256', 'curve25519-sha256@libssh.org'],
  serverHostKey: ['ssh-ed25519'],
  cipher: ['aes128-gcm@openssh.com', 'aes256-gcm@openssh.com', 'chacha20-poly1305@openssh.com', 'aes256-ctr'],
  // The last two are for libssh2 before 1.11, which has no encrypt-then-MAC.
  hmac: ['hmac-sha2-256-etm@openssh.com', 'hmac-sha2-512-etm@openssh.com', 'hmac-sha2-256', 'hmac-sha2-512'],
  compress: ['none'],
}

/** Time limit for a connection to authenticate (threat S5). */
const GRACE_MS = 30_000
/** Interval of requests that a client must answer; the third without an answer ends its connection, like ClientAliveInterval. */
const KEEP_ALIVE_MS = 18_000
const MAX_UNANSWERED = 2
/** Silence after which the kernel's counters show that a client has vanished; longer than a short sleep of its machine. */
const SILENCE_MS = 45_000
/** Time that clients have to close their side when the server stops. */
const STOP_GRACE_MS = 1_000
/** Time that the engine then has to terminate the clients' programs. */
const HANG_UP_MS = 1_000
/** Maximum number of concurrent shells, commands and subsystems of one connection. */
const MAX_SESSIONS = 100
/** Time after which a session is accepted although its workspace is still starting. */
const SILENT_MS = 500

/** Options of a `ConnectionServer`. */
export interface ConnectionServerOptions {
  /** OpenSSH private key file, as ssh2 reads it. */
  readonly privateKey: string
  readonly resolver: WorkspaceResolver
  readonly keyRule: KeyRule
  /** Ports inside workspaces that forwards must not reach. */
  readonly deniedPorts: readonly number[]
  readonly logger: Logger
  readonly graceMs?: number
}

/** Callbacks for the events of one connection. */
export interface ConnectionEvents {
  /** The user has authenticated. */
  readonly onProven?: (login: Login) => void
  /** The connection closed without authenticating; called with the last attempt. */
  readonly onRefused?: (refusal: LoginRefusal) => void
  /** The user first entered the workspace (`code` undefined) or was first refused entry (`code` is the error code). Called at most once for each. */
  readonly onEntry?: (code: string | undefined) => void
  readonly onClosed?: () => void
}

interface Admitted {
  readonly socket: Socket
  readonly grace: NodeJS.Timeout
  readonly acknowledge: () => void
  readonly events: ConnectionEvents
}

/** Speaks SSH on sockets accepted elsewhere. */
export class ConnectionServer {
  readonly #server: ssh2.Server
  /** Keyed by the peer's `address port`. ssh2 reports a connection only after its first line. */
  readonly #admitted = new Map<string, Admitted>()
  readonly #connections = new Set<Connection>()
  readonly #running = new Set<ExecProcess>()
  readonly #options: ConnectionServerOptions

  constructor(options: ConnectionServerOptions) {
    this.#options = options
    this.#server = new ssh2.Server(
      {
        hostKeys: [options.privateKey],
        ident: 'workspace',
        algorithms: ALGORITHMS,
        keepaliveInterval: KEEP_ALIVE_MS,
        keepaliveCountMax: MAX_UNANSWERED,
      },
      (connection, { ip, port }) => this.#serve(connection, ip, port),
    )
  }

  /**
   * Takes over a connection and limits the time it has to authenticate, even if the client sends nothing. Returns a
   * function that closes the connection.
   */
  admit(socket: Socket, events: ConnectionEvents = {}): () => void {
    const key = `${socket.remoteAddress} ${socket.remotePort}`
    const grace = setTimeout(() => socket.destroy(), this.#options.graceMs ?? GRACE_MS)
    const acknowledge = (): void => acknowledgeNow(socket)
    this.#admitted.set(key, { socket, grace, acknowledge, events })
    socket.once('close', () => {
      clearTimeout(grace)
      this.#admitted.delete(key)
      events.onClosed?.()
    })
    // Otherwise every small answer waits about 40 ms for the client's delayed acknowledgment.
    socket.setNoDelay(true)
    noticeLoss(socket, SILENCE_MS)
    this.#server.injectSocket(socket)
    // Until login, clients send small packets only after the previous ones are acknowledged (Nagle's algorithm).
    socket.on('data', acknowledge)
    // The socket was accepted paused, so that no other process read from it.
    socket.resume()
    return () => socket.destroy()
  }

  /** Disconnects every client, forcibly after one second, and terminates their programs. */
  async stop(): Promise<void> {
    const sockets = [...this.#admitted.values()].map(({ socket }) => socket)
    const closed = sockets.map((socket) => new Promise((resolve) => socket.once('close', resolve)))
    for (const connection of this.#connections) connection.end()
    const cut = setTimeout(() => {
      for (const socket of sockets) socket.destroy()
    }, STOP_GRACE_MS)
    await Promise.all(closed)
    clearTimeout(cut)
    const hungUp = Promise.allSettled([...this.#running].map((program) => program.hangUp()))
    await Promise.race([hungUp, delay(HANG_UP_MS, undefined, { ref: false })])
  }

  #serve(connection: Connection, ip: string, port: number): void {
    const { logger, resolver, keyRule, deniedPorts } = this.#options
    const admitted = this.#admitted.get(`${ip} ${port}`)
    this.#connections.add(connection)
    const gone = new AbortController()
    setMaxListeners(MAX_SESSIONS, gone.signal)
    connection.once('close', () => {
      this.#connections.delete(connection)
      gone.abort()
    })
    connection.on('error', (error: ConnectionError) => {
      logFailure(error, ip, logger)
      // ssh2 only sends its own end, which a client that has vanished never acknowledges.
      if (error.level === 'client-timeout' && admitted) resetSocket(admitted.socket)
    })
    fixWindows(connection)
    fixRequests(connection)
    let login: LoginName = { user: '', fingerprint: '' }
    let refusal: LoginRefusal | undefined
    authenticate(
      connection,
      ip,
      keyRule,
      logger,
      (proven) => {
        login = proven
        refusal = undefined
        clearTimeout(admitted?.grace)
        if (admitted) admitted.socket.off('data', admitted.acknowledge)
        admitted?.events.onProven?.(proven)
      },
      (last) => (refusal = last),
    )
    // Must run before the socket's own close handler, which reports the connection as closed.
    admitted?.socket.prependOnceListener('close', () => refusal && admitted.events.onRefused?.(refusal))
    const enter = reportingResolver(resolver, (code) => admitted?.events.onEntry?.(code))
    const agent = new AgentForward(connection, logger)
    const refuse = channelRefuser(connection)
    let sessions = 0
    connection.on('session', (accept, reject) => {
      if (sessions >= MAX_SESSIONS) return refuse(reject, TOO_MANY_SESSIONS)
      sessions += 1
      const { localAddress, localPort } = admitted?.socket ?? {}
      const access: Promise<AccessResult> = enter(login).then(
        (granted) => ({ is: 'granted', access: granted }),
        (error: unknown) => ({ is: 'denied', error }),
      )
      const start = (): void => {
        if (gone.signal.aborted) return
        const session = accept()
        session.once('close', () => (sessions -= 1))
        const address = `${ip} ${port} ${localAddress} ${localPort}`
        const target = {
          user: login.user,
          access,
          agent,
          connection: address,
          gone: gone.signal,
          running: this.#running,
        }
        serveSession(session, target, logger)
      }
      void Promise.race([access, delay(SILENT_MS, undefined, { ref: false })]).then(start)
    })
    serveForwards(connection, () => enter(login), refuse, deniedPorts, logger)
  }
}

/** An error of ssh2, with its origin. */
type ConnectionError = Error & { readonly level?: string }

/** Logs why a connection failed. A broken network or a client that disconnects is not a failure. */
function logFailure(error: ConnectionError, address: string, logger: Logger): void {
  if (error.level === 'socket') logger.debug({ address }, `SSH client disconnected: ${error.message}`)
  else logger.warn({ address }, `SSH connection failed: ${error.message}`)
}

/** Wraps a resolver to report its first success and its first failure. */
function reportingResolver(
  resolver: WorkspaceResolver,
  report: (code: string | undefined) => void,
): WorkspaceResolver {
  const reported = { entry: false, refusal: false }
  return async (login): Promise<WorkspaceAccess> => {
    try {
      const entered = await resolver(login)
      if (!reported.entry) report(undefined)
      reported.entry = true
      return entered
    } catch (error) {
      if (!reported.refusal) report(isFault(error) ? error.code : 'INTERNAL_ERROR')
      reported.refusal = true
      throw error
    }
  }
}

/** The only allowed destinations. Any other is refused without a DNS lookup (threat S3). */
const LOCALHOST = new Set(['localhost', '127.0.0.1', '::1'])
const MAX_FORWARDS = 500

const TOO_MANY_SESSIONS: Refusal = {
  reason: 'resource shortage',
  sentence: `a connection can have at most ${MAX_SESSIONS} sessions`,
}
const TOO_MANY_FORWARDS: Refusal = {
  reason: 'resource shortage',
  sentence: `a connection can have at most ${MAX_FORWARDS} forwards`,
}
const FORBIDDEN_DESTINATION: Refusal = {
  reason: 'prohibited',
  sentence:
    'forwards reach only ports of the workspace itself: localhost, 127.0.0.1 or ::1, ports 1 to 65535',
}

/** Serves `ssh -L` and `-D`: connections to the workspace's loopback address. */
function serveForwards(
  connection: Connection,
  enter: () => Promise<WorkspaceAccess>,
  refuse: ReturnType<typeof channelRefuser>,
  deniedPorts: readonly number[],
  logger: Logger,
): void {
  let open = 0
  connection.on('tcpip', (accept, reject, { destIP, destPort }) => {
    const isAllowed = LOCALHOST.has(destIP.toLowerCase()) && destPort >= 1 && destPort <= 65_535
    if (!isAllowed) return refuse(reject, FORBIDDEN_DESTINATION)
    if (open >= MAX_FORWARDS) return refuse(reject, TOO_MANY_FORWARDS)
    open += 1
    const forward = async (): Promise<void> => {
      refuseDenied(destPort, deniedPorts)
      const { backend, name } = await enter()
      const inside = await backend.dial(name, destPort)
      const channel = accept()
      // ssh2 returns undefined if the client has disconnected in the meantime.
      if ((channel as ServerChannel | undefined) === undefined) return void inside.destroy()
      await joinChannel(channel, inside)
    }
    forward()
      .catch((error: unknown) => {
        if (!isFault(error)) logger.warn({ err: error }, 'SSH port forward failed')
        refuse(reject, refusalOf(error))
      })
      .finally(() => (open -= 1))
  })
}

function refusalOf(error: unknown): Refusal {
  if (!isFault(error)) return { reason: 'connect failed', sentence: 'the forward failed; see the server log' }
  return { reason: error.kind === 'forbidden' ? 'prohibited' : 'connect failed', sentence: error.message }
}
