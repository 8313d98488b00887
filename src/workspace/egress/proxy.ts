import type { IncomingMessage, Server, ServerResponse } from 'node:http'
import type { Duplex } from 'node:stream'
import { setTimeout as delay } from 'node:timers/promises'
import { TLSSocket } from 'node:tls'
import type { Clock } from '../../lib/clock/clock.ts'
import { Pace } from '../../lib/clock/pace.ts'
import { type Fault, isFault } from '../../lib/errors/fault.ts'
import { httpFault } from '../../lib/http/faults.ts'
import { keepHead } from '../../lib/http/keep-head.ts'
import { createServer } from '../../lib/http/node-http.ts'
import { MAX_HEAD_BYTES } from '../../lib/http/head-limit.ts'
import { sendOwnAnswer } from '../../lib/http/proxy/answer.ts'
import {
  type CheckedRequest,
  checkRequest,
  isForwardedUpgrade,
} from '../../lib/http/proxy/checked-request.ts'
import { endToEnd, plainName } from '../../lib/http/proxy/end-to-end.ts'
import { forward, type UpstreamFailure } from '../../lib/http/proxy/forward.ts'
import type { HeaderPairs } from '../../lib/http/proxy/header-pairs.ts'
import { responseOn } from '../../lib/http/proxy/socket-response.ts'
import { STATUS_OF_KIND } from '../../lib/http/status.ts'
import type { Logger } from '../../lib/log/logger.ts'
import { fault } from '../errors.ts'
import type { EgressAuthority } from './authority.ts'
import { withCredential } from './credential.ts'
import { DEFAULT_PORTS, hostAndPort } from './default-ports.ts'
import type { EgressEntry, EgressFailure } from './request-log.ts'
import {
  allowingRule,
  type EgressProfile,
  type EgressRefusal,
  type EgressRule,
  type EgressTarget,
  rulesFor,
} from './rules.ts'
import type { SecretSource } from './settings.ts'
import { type Destination, destinationOf, type UpstreamConnections } from './upstream.ts'

/** Requests and tunnels of a workspace, which share the server's processor with other workspaces. */
const RATE = { perMs: 0.3, burst: 1_000 } as const
const HANDSHAKE_MS = 15_000
const ANSWER_MS = 300_000
const AUTHORITY = /^([a-z0-9_.-]{1,253}?)\.?(?::(\d{1,5}))?$/i
/** Headers by which some servers replace the method, host or path that a rule has been applied to. */
const OVERRIDES = new Set([
  'forwarded',
  'host',
  'x-forwarded-host',
  'x-forwarded-prefix',
  'x-host',
  'x-http-method',
  'x-http-method-override',
  'x-method-override',
  'x-original-host',
  'x-original-url',
  'x-rewrite-url',
])

/** Dependencies of an EgressProxy. */
export interface EgressProxyParts {
  readonly profile: EgressProfile
  readonly authority: EgressAuthority
  readonly secrets: ReadonlyMap<string, SecretSource>
  readonly upstreams: UpstreamConnections
  readonly report: (entry: EgressEntry) => void
  readonly clock: Clock
  readonly logger: Logger
}

/**
 * The HTTP proxy through which one workspace makes requests. It reads every request, encrypted ones with a certificate
 * of a separate authority, forwards those that a rule allows, and adds credentials.
 */
export class EgressProxy {
  readonly #parts: EgressProxyParts
  /** Serves the workspace's connections. */
  readonly #outer: Server
  /** Serves the connections inside its tunnels, once decrypted. */
  readonly #inner: Server
  readonly #targets = new WeakMap<Duplex, EgressTarget>()
  readonly #connections = new Set<Duplex>()
  readonly #pace: Pace

  constructor(parts: EgressProxyParts) {
    this.#parts = parts
    this.#pace = new Pace(RATE, parts.clock.nowMs)
    const options = { maxHeaderSize: MAX_HEAD_BYTES, shouldUpgradeCallback: isForwardedUpgrade }
    this.#outer = createServer(options, (request, response) => void this.#answer(request, response))
      .on('upgrade', (request, socket, head) => void this.#upgrade(request, socket, head))
      .on(
        'connect',
        (request, socket, head) => void this.#connect(request, socket, head).catch(() => socket.destroy()),
      )
    this.#inner = createServer(options, (request, response) => void this.#answer(request, response)).on(
      'upgrade',
      (request, socket, head) => void this.#upgrade(request, socket, head),
    )
  }

  /** Serves a connection of the workspace. */
  readonly serve = (connection: Duplex): void => {
    connection.on('error', () => undefined)
    this.#connections.add(connection)
    connection.once('close', () => this.#connections.delete(connection))
    this.#outer.emit('connection', connection)
  }

  close(): void {
    for (const connection of this.#connections) connection.destroy()
    this.#parts.upstreams.close()
  }

  #upgrade(request: IncomingMessage, socket: Duplex, head: Buffer): Promise<void> {
    socket.on('error', () => socket.destroy())
    keepHead(socket, head)
    // Before Node 24.9, every upgrade request is handled here.
    const upgrade = isForwardedUpgrade(request) ? socket : undefined
    return this.#answer(request, responseOn(socket, request), upgrade)
  }

  /** Opens a tunnel and serves the requests in it. What is not TLS for the tunnel's host is refused. */
  async #connect(request: IncomingMessage, socket: Duplex, head: Buffer): Promise<void> {
    socket.on('error', () => undefined)
    const target = targetOf('https', request.url ?? '')
    const { profile, authority } = this.#parts
    await this.#keepPace()
    if (target === undefined || rulesFor(profile, target).length === 0) {
      this.#report(target, request, { outcome: 'refused', reason: 'host', path: '' })
      return void socket.end(connectRefusal(this.#refusal('host', target)))
    }
    const secureContext = await authority.contextFor(target.host)
    if (socket.destroyed) return
    socket.write('HTTP/1.1 200 Connection established\r\n\r\n')
    keepHead(socket, head)
    const secured = new TLSSocket(socket, {
      isServer: true,
      secureContext,
      // HTTP/2 would let a client send requests for other hosts on this connection.
      ALPNProtocols: ['http/1.1'],
      SNICallback: (name, done) =>
        name.toLowerCase() === target.host
          ? done(null, secureContext)
          : done(new Error('the TLS handshake names another host than the tunnel')),
    })
    const late = setTimeout(() => secured.destroy(), HANDSHAKE_MS)
    let isOpen = false
    secured.on('error', () => {
      if (!isOpen) this.#report(target, request, { outcome: 'refused', reason: 'tls', path: '' })
      socket.destroy()
    })
    secured.once('close', () => {
      clearTimeout(late)
      socket.destroy()
    })
    secured.once('secure', () => {
      isOpen = true
      clearTimeout(late)
      this.#targets.set(secured, target)
      this.#inner.emit('connection', secured)
    })
  }

  async #answer(message: IncomingMessage, response: ServerResponse, upgrade?: Duplex): Promise<void> {
    const target = this.#targets.get(message.socket) ?? absoluteTarget(message)
    const refuse = (reason: EgressFailure, failure: Fault): void => {
      const outcome = reason === 'credential' ? 'failed' : 'refused'
      this.#report(target, message, { outcome, reason })
      this.#refuse(message, response, failure)
    }
    try {
      const request = checkRequest(message)
      await this.#keepPace()
      if (target === undefined)
        throw httpFault('INVALID_REQUEST', 'the egress proxy accepts CONNECT and absolute http:// URLs')
      requireHost(message, target)
      const rule = allowingRule(rulesFor(this.#parts.profile, target), message.method ?? '', request.target)
      if (typeof rule === 'string') return refuse(rule, this.#refusal(rule, target, message))
      const destination = destinationOf(rule, target)
      const headers = await this.#headers(message, rule, destination)
      this.#forward(request, response, { target, rule, destination, headers, upgrade })
    } catch (error) {
      refuse(...this.#failureOf(error))
    }
  }

  async #headers(message: IncomingMessage, { credential }: EgressRule, destination: Destination) {
    const headers: HeaderPairs = [
      ['Host', hostAndPort(destination)],
      ...endToEnd(message).filter(([each]) => !OVERRIDES.has(plainName(each))),
    ]
    return credential === undefined ? headers : withCredential(headers, credential, this.#parts.secrets)
  }

  #forward(
    request: CheckedRequest,
    response: ServerResponse,
    to: {
      readonly target: EgressTarget
      readonly rule: EgressRule
      readonly destination: Destination
      readonly headers: HeaderPairs
      readonly upgrade: Duplex | undefined
    },
  ): void {
    const { target, rule, destination, headers, upgrade } = to
    const { message } = request
    if (message.socket.destroyed) return
    let failure: EgressFailure | undefined
    const reportOnce = (status: number | undefined): void => {
      response.off('close', onClose)
      const outcome = failure === undefined ? 'allowed' : 'failed'
      this.#report(target, message, { outcome, reason: failure, rule, status })
    }
    const onClose = (): void => reportOnce(response.headersSent ? response.statusCode : undefined)
    response.once('close', onClose)
    forward({
      request,
      response,
      upgrade,
      upstream: this.#parts.upstreams.to(destination),
      headers,
      timeoutMs: ANSWER_MS,
      onSwitch: () => reportOnce(101),
      refuse: (upstream) => {
        failure = 'server'
        this.#refuse(message, response, upstreamFailed(target, upstream))
      },
    })
  }

  async #keepPace(): Promise<void> {
    const waitMs = this.#pace.spend(1)
    if (waitMs > 0) await delay(waitMs)
  }

  #refusal(reason: EgressRefusal, target: EgressTarget | undefined, message?: IncomingMessage): Fault {
    const { name } = this.#parts.profile
    const where = target === undefined ? 'that address' : `${target.scheme}://${target.host}:${target.port}`
    const why = {
      host: `has no rule for ${where}`,
      method: `does not allow ${message?.method ?? ''} on ${where}`,
      path: `does not allow that path on ${where}`,
      ambiguous_path: `does not allow a path on ${where} that servers could interpret differently`,
    }[reason]
    return fault('EGRESS_REFUSED', `egress profile "${name}" ${why}; ask the server's operator for a rule`)
  }

  #failureOf(error: unknown): readonly [EgressFailure, Fault] {
    if (isFault(error))
      return [error.code === 'EGRESS_CREDENTIAL_UNAVAILABLE' ? 'credential' : 'request', error]
    this.#parts.logger.error({ err: error }, 'a request through the egress proxy failed')
    return ['server', httpFault('INTERNAL_ERROR', 'an internal error occurred; see the server log')]
  }

  #refuse(message: IncomingMessage, response: ServerResponse, failure: Fault): void {
    if (response.headersSent || response.destroyed) return void response.destroy()
    const headers = { 'content-type': 'application/json' }
    sendOwnAnswer(message, response, { status: STATUS_OF_KIND[failure.kind], headers, body: bodyOf(failure) })
  }

  #report(
    target: EgressTarget | undefined,
    { method = '', url = '' }: IncomingMessage,
    how: Pick<EgressEntry, 'outcome' | 'reason'> & {
      readonly path?: string
      readonly rule?: EgressRule | undefined
      readonly status?: number | undefined
    },
  ): void {
    const { path = pathOf(url), rule, status, ...outcome } = how
    const { scheme = 'https', host = '', port = 0 } = target ?? {}
    const secret = outcome.outcome === 'allowed' ? rule?.credential?.secret : undefined
    const at = new Date(this.#parts.clock.wallMs())
    this.#parts.report({
      at,
      method: path === '' ? '' : method,
      scheme,
      host,
      port,
      path,
      status,
      secret,
      ...outcome,
    })
  }
}

/** Parses a host and an optional port; undefined for anything else, IPv6 addresses included. */
function targetOf(scheme: EgressTarget['scheme'], authority: string): EgressTarget | undefined {
  const [, host, port] = AUTHORITY.exec(authority) ?? []
  if (host === undefined) return undefined
  return { scheme, host: host.toLowerCase(), port: port === undefined ? DEFAULT_PORTS[scheme] : Number(port) }
}

/** Returns the server that a request outside a tunnel names. */
function absoluteTarget({ url = '' }: IncomingMessage): EgressTarget | undefined {
  const [, authority] = /^http:\/\/([^/?#]*)/i.exec(url) ?? []
  return authority === undefined ? undefined : targetOf('http', authority)
}

/** @throws INVALID_REQUEST when the header names another server than the tunnel or the URL */
function requireHost({ headers }: IncomingMessage, target: EgressTarget): void {
  const named = targetOf(target.scheme, headers.host ?? '')
  if (named?.host !== target.host || named.port !== target.port)
    throw httpFault(
      'INVALID_REQUEST',
      `the request names another host than ${target.host}, so it is not forwarded`,
    )
}

/** Returns the path of a target of either form, without its query. */
function pathOf(url: string): string {
  const [path = ''] = url.replace(/^https?:\/\/[^/?#]*/i, '').split('?', 1)
  return path === '' ? '/' : path
}

function upstreamFailed({ host }: EgressTarget, { is, message, cause }: UpstreamFailure): Fault {
  const why = {
    silent: `did not respond within ${ANSWER_MS / 1_000} s`,
    broken: `cannot be reached: ${message}`,
    invalid: `sent an invalid response: ${message}`,
  }[is]
  return fault('EGRESS_SERVER_FAILED', `${host} ${why}`, cause)
}

function bodyOf({ code, message }: Fault): string {
  return JSON.stringify({ error: { code, message } })
}

/** Returns the response to a CONNECT request that is refused; most clients show only its first line. */
function connectRefusal(failure: Fault): string {
  const body = bodyOf(failure)
  return [
    `HTTP/1.1 ${STATUS_OF_KIND[failure.kind]} ${failure.message.replaceAll(/[^\x20-\x7e]/g, '?')}`,
    'Content-Type: application/json',
    `Content-Length: ${Buffer.byteLength(body)}`,
    'Connection: close',
    '',
    body,
  ].join('\r\n')
}
