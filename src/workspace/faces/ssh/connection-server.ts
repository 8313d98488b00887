import { setMaxListeners } from 'node:events'
import type { Socket } from 'node:net'
import { setTimeout as delay } from 'node:timers/promises'
import ssh2, { type Connection, type ServerConfig, type ServerChannel } from '../../../lib/ssh/ssh2.ts'
import { isFault } from '../../../lib/errors/fault.ts'
import type { Logger } from '../../../lib/log/logger.ts'
import { acknowledgeNow } from '../../../native/net/tcp.ts'
import type { ExecProcess } from '../../backend/backend.ts'
import { AgentForward } from './agent-forward.ts'
import { authenticate, type Login, type LoginRefusal } from './authenticate.ts'
import type { KeyRule } from './authorized-keys.ts'
import type { Entered, Gate } from './gate.ts'
import { type Entry, serveSession } from './session.ts'
import { channelRefuser, type Refusal } from '../../../lib/ssh/refuse-channel.ts'
import { fixRequests } from '../../../lib/ssh/request-fix.ts'
import { mendWindows } from './window-fix.ts'
import { refuseDenied } from '../../tunnel/denied-ports.ts'
import { joinChannel } from './join-channel.ts'

/** Only what is sound and what ssh2 really does: it offers group exchange to clients and cannot do it (threat S6). */
const ALGORITHMS: NonNullable<ServerConfig['algorithms']> = {
  kex: ['curve25519-sha256', 'curve25519-sha256@libssh.org'],
  serverHostKey: ['ssh-ed25519'],
  cipher: ['aes128-gcm@openssh.com', 'aes256-gcm@openssh.com', 'chacha20-poly1305@openssh.com', 'aes256-ctr'],
  // The last two are for libssh2 before 1.11, which knows no encrypt-then-MAC.
  hmac: ['hmac-sha2-256-etm@openssh.com', 'hmac-sha2-512-etm@openssh.com', 'hmac-sha2-256', 'hmac-sha2-512'],
  compress: ['none'],
}

/** How long a connection may take to prove a key (threat S5). */
const GRACE_MS = 30_000
/** How long clients get to close their side when the server stops. */
const STOP_GRACE_MS = 1_000
/** How long the engine then gets to end what clients were running. */
const HANG_UP_MS = 1_000
/** Shells, commands and subsystems that one connection may run at once. */
const MAX_SESSIONS = 100

export interface ConnectionServerOptions {
  /** OpenSSH private key file, as ssh2 reads it. */
  readonly privateKey: string
  readonly gate: Gate
  readonly keyRule: KeyRule
  /** Ports inside workspaces that no forward reaches. */
  readonly deniedPorts: readonly number[]
  readonly logger: Logger
  readonly graceMs?: number
}

/** What a connection's owner is told about it. */
export interface ConnectionEvents {
  /** Its user has proven a key. */
  readonly onProven?: (login: Login) => void
  /** It was closed without a proven key, after tries; the last of them. */
  readonly onRefused?: (refusal: LoginRefusal) => void
  /** Its user has come into the workspace, or was first kept out of it; each once. @param code why not */
  readonly onEntry?: (code: string | undefined) => void
  readonly onClosed?: () => void
}

interface Admitted {
  readonly socket: Socket
  readonly grace: NodeJS.Timeout
  readonly acknowledge: () => void
  readonly events: ConnectionEvents
}

/** Speaks SSH on connections that someone else has accepted. */
export class ConnectionServer {
  readonly #server: ssh2.Server
  /** By `address port` of the other side. ssh2 tells of a connection only after its first line. */
  readonly #admitted = new Map<string, Admitted>()
  readonly #connections = new Set<Connection>()
  readonly #running = new Set<ExecProcess>()
  readonly #options: ConnectionServerOptions

  constructor(options: ConnectionServerOptions) {
    this.#options = options
    this.#server = new ssh2.Server(
      { hostKeys: [options.privateKey], ident: 'workspace', algorithms: ALGORITHMS },
      (connection, { ip, port }) => this.#serve(connection, ip, port),
    )
  }

  /**
   * Takes a connection over, and gives it a limited time to prove a key, whether or not it ever says a word. What is
   * returned ends it.
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
    // Without it every small answer waits for the client's delayed acknowledgement, some 40 ms.
    socket.setNoDelay(true)
    this.#server.injectSocket(socket)
    // Until the login a client sends small packets only when the previous ones are acknowledged (Nagle's algorithm).
    socket.on('data', acknowledge)
    // It was accepted paused, so that no byte was read in another process.
    socket.resume()
    return () => socket.destroy()
  }

  /** Says goodbye to every client; one that does not close its side is cut off a second later. Leaves no program running. */
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
    const { logger, gate, keyRule, deniedPorts } = this.#options
    const admitted = this.#admitted.get(`${ip} ${port}`)
    this.#connections.add(connection)
    const gone = new AbortController()
    setMaxListeners(MAX_SESSIONS, gone.signal)
    connection.once('close', () => {
      this.#connections.delete(connection)
      gone.abort()
    })
    connection.on('error', (error) => logFailure(error, ip, logger))
    mendWindows(connection)
    fixRequests(connection)
    let user = ''
    let refusal: LoginRefusal | undefined
    authenticate(
      connection,
      ip,
      keyRule,
      logger,
      (login) => {
        user = login.user
        refusal = undefined
        clearTimeout(admitted?.grace)
        if (admitted) admitted.socket.off('data', admitted.acknowledge)
        admitted?.events.onProven?.(login)
      },
      (last) => (refusal = last),
    )
    // Before its socket's own, which says that the connection has gone.
    admitted?.socket.prependOnceListener('close', () => refusal && admitted.events.onRefused?.(refusal))
    const enter = reportingGate(gate, (code) => admitted?.events.onEntry?.(code))
    const agent = new AgentForward(connection, logger)
    const refuse = channelRefuser(connection)
    let sessions = 0
    connection.on('session', (accept, reject) => {
      if (sessions >= MAX_SESSIONS) return refuse(reject, TOO_MANY_SESSIONS)
      sessions += 1
      const { localAddress, localPort } = admitted?.socket ?? {}
      const begin = (entry: Entry): void => {
        if (gone.signal.aborted) return
        const session = accept()
        session.once('close', () => (sessions -= 1))
        const address = `${ip} ${port} ${localAddress} ${localPort}`
        const target = {
          user,
          entry,
          agent,
          connection: address,
          gone: gone.signal,
          running: this.#running,
        }
        serveSession(session, target, logger)
      }
      enter(user).then(
        (at) => begin({ is: 'entered', at }),
        (why: unknown) => begin({ is: 'refused', why }),
      )
    })
    serveForwards(connection, () => enter(user), refuse, deniedPorts, logger)
  }
}

/** Logs why a connection failed. Clients whose network breaks, or who go away, are no failure. */
function logFailure(error: Error & { readonly level?: string }, address: string, logger: Logger): void {
  if (error.level === 'socket') logger.debug({ address }, `an SSH client has gone: ${error.message}`)
  else logger.warn({ address }, `an SSH connection failed: ${error.message}`)
}

/** A gate that reports the first time it lets somebody through, and the first time it does not. */
function reportingGate(gate: Gate, report: (code: string | undefined) => void): Gate {
  const reported = { entry: false, refusal: false }
  return async (user): Promise<Entered> => {
    try {
      const entered = await gate(user)
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

/** The only destinations; anything else a client writes is refused as it stands, and never resolved (threat S3). */
const LOCALHOST = new Set(['localhost', '127.0.0.1', '::1'])
const MAX_FORWARDS = 500

const TOO_MANY_SESSIONS: Refusal = {
  reason: 'resource shortage',
  sentence: `one connection may have ${MAX_SESSIONS} sessions`,
}
const TOO_MANY_FORWARDS: Refusal = {
  reason: 'resource shortage',
  sentence: `one connection may have ${MAX_FORWARDS} forwards`,
}
const ELSEWHERE: Refusal = {
  reason: 'prohibited',
  sentence:
    'forwards reach ports of the workspace itself alone: localhost, 127.0.0.1 or ::1, from 1 to 65535',
}

/** Serves `ssh -L` and `-D`: connections to the workspace's own loopback address. */
function serveForwards(
  connection: Connection,
  enter: () => Promise<Entered>,
  refuse: ReturnType<typeof channelRefuser>,
  deniedPorts: readonly number[],
  logger: Logger,
): void {
  let open = 0
  connection.on('tcpip', (accept, reject, { destIP, destPort }) => {
    const isAllowed = LOCALHOST.has(destIP.toLowerCase()) && destPort >= 1 && destPort <= 65_535
    if (!isAllowed) return refuse(reject, ELSEWHERE)
    if (open >= MAX_FORWARDS) return refuse(reject, TOO_MANY_FORWARDS)
    open += 1
    const forward = async (): Promise<void> => {
      refuseDenied(destPort, deniedPorts)
      const { backend, name } = await enter()
      const inside = await backend.dial(name, destPort)
      const channel = accept()
      // ssh2 gives nothing when the client has gone meanwhile.
      if ((channel as ServerChannel | undefined) === undefined) return void inside.destroy()
      await joinChannel(channel, inside)
    }
    forward()
      .catch((error: unknown) => {
        if (!isFault(error)) logger.warn({ err: error }, 'an SSH forward failed')
        refuse(reject, refusalOf(error))
      })
      .finally(() => (open -= 1))
  })
}

function refusalOf(error: unknown): Refusal {
  if (!isFault(error))
    return { reason: 'connect failed', sentence: 'the forward failed; the server log says why' }
  return { reason: error.kind === 'forbidden' ? 'prohibited' : 'connect failed', sentence: error.message }
}
