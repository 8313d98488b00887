import { randomUUID } from 'node:crypto'
import type { Msg, NatsConnection } from '@nats-io/transport-node'
import { type Clock, systemClock } from '../../../lib/clock/clock.ts'
import { isFault } from '../../../lib/errors/fault.ts'
import type { Logger } from '../../../lib/log/logger.ts'
import { fault, WORKSPACE_CODES } from '../../errors.ts'
import type { Answer, Bus, Listener, Outlet } from '../bus.ts'
import type { ConnectedGuest, GuestMessage } from '../guest-message.ts'
import type { NatsSettings } from '../settings.ts'
import { Claims } from './claims.ts'
import { Origins } from './origins.ts'
import { type Peer, Peers } from './peers.ts'
import * as wire from './wire.ts'
import { setTimeout as delay } from 'node:timers/promises'
import { ignore } from '../../../lib/errors/ignore.ts'
import { messageOf } from '../../../lib/errors/message.ts'

const HEARTBEAT_MS = 2_000
/** Three heartbeats. */
const SILENCE_MS = 3 * HEARTBEAT_MS
/** How long to wait for another server's reply. */
const ANSWER_MS = 2_000

/** Options of a bus cluster. */
export interface ClusterOptions {
  /** This server's name, which must be unique in the cluster. */
  readonly server: string
  readonly requestTimeoutMs: number
  readonly nats: NatsSettings | undefined
  readonly logger: Logger
  readonly clock?: Clock
}

/**
 * Joins the buses of several servers over NATS: each namespace has one listener among all servers, which
 * receives the messages of all their guests. Without NATS, and while it is unreachable, only this server's
 * bus works. Messages in transit when a server dies are lost, and counted where an answer was expected.
 */
export class BusCluster {
  readonly #bus: Bus
  readonly #options: ClusterOptions
  readonly #instance = randomUUID()
  readonly #peers: Peers
  readonly #claims: Claims
  readonly #origins: Origins
  readonly #ending = new AbortController()
  #nats: NatsConnection | undefined
  #isConnected = false
  #heartbeat: NodeJS.Timeout | undefined
  #hasNamesake = false

  constructor(bus: Bus, options: ClusterOptions) {
    this.#bus = bus
    this.#options = options
    const { server, clock = systemClock } = options
    this.#peers = new Peers(SILENCE_MS, clock)
    this.#claims = new Claims(server, this.#peers, (namespace) => bus.hasListener(namespace), clock)
    this.#origins = new Origins(options.requestTimeoutMs, clock)
    bus.setFallback((namespace) => this.#routeTo(namespace))
  }

  /** Connects to NATS in the background. */
  start(): void {
    const { nats, logger } = this.#options
    if (nats === undefined) return
    this.#join(nats).catch((error: unknown) => logger.error({ err: error }, 'the bus cluster failed'))
  }

  async stop(): Promise<void> {
    this.#ending.abort()
    clearInterval(this.#heartbeat)
    if (this.#nats === undefined) return
    this.#announce(true)
    await this.#nats.flush().catch(ignore('its peers miss its heartbeat instead'))
    await this.#nats.close()
  }

  /**
   * Like Bus.listen, across all servers.
   *
   * @throws NAMESPACE_ALREADY_REGISTERED when another server's listener has the namespace
   */
  async listen(namespace: unknown, outlet: Outlet, onLost: () => void): Promise<() => void> {
    const free = this.#bus.checkFree(namespace)
    if (this.#claims.isPending(free))
      throw fault('NAMESPACE_ALREADY_REGISTERED', `namespace "${free}" is being claimed by another listener`)
    if (this.#nats !== undefined && this.#isConnected) await this.#claims.claim(this.#nats, free)
    const unregister = this.#bus.listen(free, outlet, onLost)
    this.#announce()
    return () => {
      unregister()
      this.#announce()
    }
  }

  /** Like Bus.respond, for a workspace on any server. */
  async respond(namespace: string, answer: Answer): Promise<void> {
    const server = this.#origins.of(answer.inReplyTo) ?? answer.server
    if (this.#nats === undefined || server === undefined || server === this.#options.server)
      return this.#bus.respond(namespace, answer)
    const failure = await this.#request(
      wire.SUBJECTS.answer(server),
      wire.answerToWire({ namespace, answer }),
    ).catch((error: unknown) => {
      const unreachable = `server "${server.slice(0, 80)}" of workspace "${answer.workspaceName.slice(0, 80)}" cannot be reached`
      throw fault('WORKSPACE_NOT_CONNECTED', unreachable, error)
    })
    if (failure === '') return
    const { code, message } = wire.failureFromWire(failure)
    if (code in WORKSPACE_CODES) throw fault(code as keyof typeof WORKSPACE_CODES, message)
    throw new Error(message)
  }

  listeners(): readonly Listener[] {
    const own = this.#bus.listeners()
    const others = this.#peers
      .all()
      .flatMap(({ listeners }) => [...listeners].map(([namespace, createdAt]) => ({ namespace, createdAt })))
    return [...own, ...others.filter(({ namespace }) => !this.#bus.hasListener(namespace))]
  }

  /** Lists the connected workspaces of all servers, omitting servers that do not respond within 2 s. */
  async workspaces(): Promise<readonly ConnectedGuest[]> {
    const others = this.#peers.all().map(async ({ server }) => {
      const text = await this.#request(wire.SUBJECTS.workspaces(server), '').catch(
        ignore('a server that does not respond is left out', '[]'),
      )
      return wire.guestsFromWire(text)
    })
    return [...this.#bus.workspaces(), ...(await Promise.all(others)).flat()]
  }

  /** Number of other servers in the cluster. */
  get size(): number {
    return this.#peers.all().length
  }

  async #join(settings: NatsSettings): Promise<void> {
    const { server, logger } = this.#options
    const nats = await connectNats(settings, server, logger, this.#ending.signal)
    if (nats === undefined) return
    this.#nats = nats
    const on = (subject: string, handle: (text: string, message: Msg) => void): void =>
      void nats.subscribe(subject, {
        callback: (error, message) => {
          if (error === null) handle(message.string(), message)
        },
      })
    on(wire.SUBJECTS.hello, (text) => this.#onHello(text))
    on(wire.SUBJECTS.claim, (text, message) => this.#claims.onClaim(text, message))
    on(wire.SUBJECTS.message(server), (text) => this.#receive(text))
    on(wire.SUBJECTS.answer(server), (text, message) => void message.respond(this.#receiveAnswer(text)))
    on(
      wire.SUBJECTS.workspaces(server),
      (_text, message) => void message.respond(wire.guestsToWire(this.#bus.workspaces())),
    )
    this.#heartbeat = setInterval(() => this.#announce(), HEARTBEAT_MS).unref()
    this.#connected()
    for await (const { type } of nats.status()) {
      if (type === 'reconnect') this.#connected()
      else if (type === 'disconnect') {
        this.#isConnected = false
        this.#peers.clear()
        logger.warn('the bus lost its connection to NATS and to the other servers')
      }
    }
    this.#isConnected = false
  }

  #connected(): void {
    this.#isConnected = true
    this.#claims.joined()
    this.#announce()
    this.#options.logger.info('the bus is connected to NATS')
  }

  #announce(isLeaving = false): void {
    if (!this.#isConnected || this.#nats?.isClosed() !== false) return
    const { server } = this.#options
    const own = isLeaving ? [] : this.#bus.listeners()
    const listeners = new Map(own.map(({ namespace, createdAt }) => [namespace, createdAt]))
    const hello = wire.helloToWire({ server, instance: this.#instance, listeners, isLeaving })
    this.#nats.publish(wire.SUBJECTS.hello, hello)
  }

  #onHello(text: string): void {
    const hello = wire.helloFromWire(text)
    if (hello === undefined) return
    if (hello.server === this.#options.server) return this.#warnOfNamesake(hello)
    this.#claims.onHello(hello)
    if (hello.isLeaving) return this.#peers.forget(hello.server)
    const isNew = this.#peers.update(hello)
    for (const [namespace, since] of hello.listeners) {
      const own = this.#bus.listeners().find((each) => each.namespace === namespace)
      if (own === undefined) this.#bus.deliverWaiting(namespace)
      else this.#resolveConflict({ server: hello.server, since }, own)
    }
    if (isNew) this.#announce()
  }

  /** Resolves a conflict between two listeners whose servers could not see each other. */
  #resolveConflict(other: Pick<wire.Claim, 'server' | 'since'>, own: Listener): void {
    const { server, logger } = this.#options
    if (!wire.isBefore(other, { server, since: own.createdAt })) return this.#announce()
    logger.warn(
      `namespace "${own.namespace}" already has a listener on server "${other.server}"; removing the listener on this server`,
    )
    this.#bus.yieldListener(own.namespace)
  }

  #warnOfNamesake({ instance }: Peer): void {
    if (instance === this.#instance || this.#hasNamesake) return
    this.#hasNamesake = true
    this.#options.logger.error(
      `another server on the bus is also named "${this.#options.server}" and receives its messages; rename one of them`,
    )
  }

  /** Returns how to send a message to the other server that listens to a namespace. */
  #routeTo(namespace: string): Outlet | undefined {
    const nats = this.#nats
    if (nats === undefined || !this.#isConnected) return undefined
    const peer = this.#peers.listening(namespace)
    if (peer === undefined) return undefined
    return { deliver: (message) => this.#forward(nats, peer.server, message) }
  }

  #forward(nats: NatsConnection, server: string, message: GuestMessage): void {
    const text = wire.messageToWire(message)
    const { max_payload: maxBytes = 0 } = nats.info ?? {}
    if (Buffer.byteLength(text) > maxBytes) this.#bus.counts.oversizedMessages++
    else nats.publish(wire.SUBJECTS.message(server), text)
  }

  #receive(text: string): void {
    const message = wire.messageFromWire(text)
    if (message === undefined) return
    const { id, type } = message.envelope
    if (type === 'request') this.#origins.add(id, message.workspace.server)
    this.#bus.deliver(message)
  }

  #receiveAnswer(text: string): string {
    const sent = wire.answerFromWire(text)
    if (sent === undefined) return wire.failureToWire(undefined)
    try {
      this.#bus.respond(sent.namespace, sent.answer)
      return ''
    } catch (error) {
      if (!isFault(error)) this.#options.logger.error({ err: error }, 'an answer from another server failed')
      return wire.failureToWire(error)
    }
  }

  async #request(subject: string, text: string): Promise<string> {
    if (this.#nats === undefined || !this.#isConnected) throw new Error('NATS is not connected')
    return (await this.#nats.request(subject, text, { timeout: ANSWER_MS })).string()
  }
}

const RETRY_MS = 1_000
/** A server that disappears without disconnecting is noticed after two of these. */
const PING_MS = 5_000

/** Opens a connection that reconnects on its own, retrying until it succeeds or `signal` is aborted. */
async function connectNats(
  { servers, token }: NatsSettings,
  name: string,
  logger: Logger,
  signal: AbortSignal,
): Promise<NatsConnection | undefined> {
  // Imported lazily: it loads fifty modules, which most servers never use because they run alone.
  const { connect } = await import('@nats-io/transport-node')
  let hasFailed = false
  while (!signal.aborted) {
    try {
      const connection = await connect({
        servers: [...servers],
        name,
        noEcho: true,
        maxReconnectAttempts: -1,
        reconnectTimeWait: RETRY_MS,
        pingInterval: PING_MS,
        timeout: PING_MS,
        ignoreAuthErrorAbort: true,
        ...(token !== undefined && { token }),
      })
      if (!signal.aborted) return connection
      await connection.close()
    } catch (error) {
      const why = messageOf(error)
      if (!hasFailed)
        logger.warn(`the bus cannot reach other servers: NATS does not respond (${why}); retrying`)
      hasFailed = true
      await delay(RETRY_MS * (0.5 + Math.random()), undefined, { signal }).catch(
        ignore('a wait that was aborted'),
      )
    }
  }
  return undefined
}
