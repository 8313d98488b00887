import type { IncomingMessage, Server, ServerResponse } from 'node:http'
import { type AddressInfo, connect } from 'node:net'
import type { Duplex } from 'node:stream'
import { messageOf } from '../../lib/errors/message.ts'
import { AnswerOrder } from '../../lib/http/answer-order.ts'
import { Agent, createServer } from '../../lib/http/node-http.ts'
import { NOTICE_HEADERS, type Notice, renderNotice } from '../../lib/http/notice-page.ts'
import { sendOwnAnswer } from '../../lib/http/proxy/answer.ts'
import {
  type CheckedRequest,
  checkRequest,
  isForwardedUpgrade,
  isRepeatable,
} from '../../lib/http/proxy/checked-request.ts'
import { forward, type Forwarding, type UpstreamFailure } from '../../lib/http/proxy/forward.ts'
import type { ClientAddress } from '../../lib/http/proxy/client-address.ts'
import { expectsTls } from '../../lib/http/proxy/expects-tls.ts'
import { type Forwarder, isLoop, toUpstream } from '../../lib/http/proxy/forwarded-headers.ts'
import { hostOptions } from '../../lib/connection/localhost.ts'
import { noticeLoss } from '../../lib/connection/notice-loss.ts'
import { keepHead } from '../../lib/http/keep-head.ts'
import type { Fault } from '../../lib/errors/fault.ts'
import { MAX_HEAD_BYTES } from '../../lib/http/head-limit.ts'
import { responseOn } from '../../lib/http/proxy/socket-response.ts'
import type { AlarmClock } from '../../lib/clock/clock.ts'
import { retryAtOf, statusOf } from '../process/process-state.ts'
import type { ProcessTable } from '../process/process-table.ts'
import type { CapturedRequest } from './captured-request.ts'
import { Exchange, REPLAY_HEADER } from './exchange.ts'
import { HeldRequests } from './held-requests.ts'
import type { ProxyTarget } from './listening-runs.ts'
import { ProxyRoutes } from './proxy-routes.ts'
import type { RequestsInProgress } from './requests-in-progress.ts'

/** Status if the client disconnected before the response started. */
const CLIENT_LEFT = 499
const NAME = 'supervisor'
const LOOP: OwnAnswer = {
  status: 508,
  title: 'Loop detected',
  message: 'This request has already passed this proxy.',
}
const LOCALHOST = hostOptions('localhost')
const SHOWN_LINES = 30
const STOP_GRACE_MS = 2_000
/** Time after which a client may try again. */
const RETRY_AFTER_S = 1

/** Dependencies of the proxy. */
export interface ProxyParts {
  readonly table: ProcessTable
  readonly domains: readonly string[]
  /** Proxies in front whose X-Forwarded headers are passed on. */
  readonly clients: ClientAddress
  readonly clock: AlarmClock
  /** Maximum time until a process's response starts. */
  readonly timeoutMs: number
  /** Maximum time that a request waits for a process that is starting. */
  readonly holdMs: number
  /** Counts requests, so that a replaced run can finish its own. */
  readonly inProgress: RequestsInProgress
  /** Maximum number of waiting requests. */
  readonly maxHeld: number
  readonly onRequest: (request: Omit<CapturedRequest, 'id'>) => void
  /** Returns the last lines of a process. */
  readonly lastLines: (process: string, count: number) => Promise<readonly string[]>
}

/** Routes requests to processes by subdomain. */
export class ProxyServer {
  readonly #parts: ProxyParts
  readonly #forwarder: Forwarder
  readonly #routes: ProxyRoutes
  readonly #held: HeldRequests
  readonly #server: Server
  /** Upgraded connections, which the HTTP server does not track. */
  readonly #upgraded = new Set<Duplex>()
  readonly #agent = new Agent({
    keepAlive: true,
    keepAliveMsecs: 1_000,
    maxFreeSockets: 64,
    scheduling: 'lifo',
  })

  constructor(parts: ProxyParts) {
    this.#parts = parts
    this.#forwarder = { name: NAME, protocol: 'http', clients: parts.clients }
    this.#routes = new ProxyRoutes({ ...parts, onReady: () => this.update() })
    this.#held = new HeldRequests(this.#routes, parts.clock, parts.maxHeld)
    const shape = { render: ({ message }: Fault) => ({ error: message, code: 'Bad request' }) }
    const order = new AnswerOrder(shape, MAX_HEAD_BYTES)
    this.#server = createServer({
      headersTimeout: 10_000,
      requestTimeout: 0,
      maxHeaderSize: MAX_HEAD_BYTES,
      // Since Node 24.9; before, every upgrade request reaches the handler below.
      shouldUpgradeCallback: (request) => !order.isBusy(request.socket) && isForwardedUpgrade(request),
    })
    this.#server.keepAliveTimeout = 72_000
    this.#server.on('connection', (socket) => noticeLoss(socket))
    this.#server.on('request', (request: IncomingMessage, response: ServerResponse) => {
      order.follow(request, response)
      this.#handle(request, response)
    })
    this.#server.on('clientError', order.refuse)
    this.#server.on('upgrade', (request: IncomingMessage, socket: Duplex, head: Buffer) => {
      this.#upgraded.add(socket)
      socket.once('close', () => this.#upgraded.delete(socket))
      socket.on('error', () => socket.destroy())
      keepHead(socket, head)
      // Before Node 24.9, which has shouldUpgradeCallback.
      if (order.isBusy(socket)) socket.destroy()
      else if (isForwardedUpgrade(request)) this.#handle(request, responseOn(socket, request), socket)
      else this.#handle(request, responseOn(socket, request))
    })
  }

  /** Listens on an address. Resolves with the port. */
  listen(host: string, port: number): Promise<number> {
    return new Promise((resolve, reject) => {
      this.#server.once('error', reject)
      this.#server.listen({ host, port, backlog: 4_096 }, () => {
        this.#server.off('error', reject)
        resolve((this.#server.address() as AddressInfo).port)
      })
    })
  }

  /** Forwards waiting requests whose processes have become ready; must be called when a process changes. */
  update(): void {
    this.#held.update()
  }

  async stop(): Promise<void> {
    this.#held.close()
    const closed = new Promise<void>((resolve) => this.#server.close(() => resolve()))
    for (const socket of this.#upgraded) socket.destroy()
    const cut = setTimeout(() => this.#server.closeAllConnections(), STOP_GRACE_MS)
    await closed
    clearTimeout(cut)
    this.#agent.destroy()
  }

  #handle(request: IncomingMessage, response: ServerResponse, upgrade?: Forwarding['upgrade']): void {
    const subdomain = this.#subdomainOf(request)
    const exchange = new Exchange(request, subdomain ?? '')
    let hasSwitched = false
    const report = (status: number): void => this.#parts.onRequest(exchange.finished(status))
    request.on('data', (bytes: Buffer) => exchange.received(bytes))
    request.on('error', () => undefined)
    response.on('error', () => undefined)
    response.once('close', () => {
      if (!hasSwitched) report(response.headersSent ? response.statusCode : CLIENT_LEFT)
    })
    let checked: CheckedRequest
    try {
      checked = checkRequest(request)
    } catch (error) {
      return answer(request, response, { status: 400, title: 'Bad request', message: `${messageOf(error)}.` })
    }
    if (isLoop(checked, NAME)) return answer(request, response, LOOP)
    const refuse = (own: OwnAnswer): void => answer(request, response, own)
    const send = (target: ProxyTarget, isRetry: boolean): void => {
      const down = (failure: UpstreamFailure) => void this.#down(target, failure).then(refuse)
      const { program } = target.process
      const client = upgrade ?? response
      const done = program && this.#parts.inProgress.begin(program)
      if (done !== undefined) client.once('close', done)
      forward({
        request: checked,
        response,
        upgrade,
        upstream: {
          ...LOCALHOST,
          port: target.port,
          // The process may close a pooled connection just as it is reused.
          agent: isRepeatable(checked) && this.#agent,
        },
        headers: toUpstream(checked, this.#forwarder).filter(
          ([name]) => name.toLowerCase() !== REPLAY_HEADER,
        ),
        timeoutMs: this.#parts.timeoutMs,
        onSwitch() {
          hasSwitched = true
          report(101)
        },
        onAnswerBytes: (bytes) => (exchange.responseBytes += bytes.length),
        refuse: down,
        ...(!isRetry && {
          onUnreached: () => {
            if (done !== undefined) client.off('close', done)
            done?.()
            this.#routes.refused(target)
            route(true)
          },
        }),
      })
    }
    const route = (isRetry: boolean): void => {
      const choice = subdomain === undefined ? undefined : this.#routes.choose(subdomain)
      if (choice === undefined) return refuse(this.#unknown(request))
      exchange.process = choice.target.process.spec.name
      if (!choice.isPending) return send(choice.target, isRetry)
      const { target } = choice
      if (this.#held.isFull) return void this.#unready(target, 'too many requests wait').then(refuse)
      // Its body stays with the client.
      request.pause()
      const limitMs = target.holdMs - exchange.heldMs
      exchange.hold()
      const forget = this.#held.hold(choice, limitMs, (isReady) => {
        exchange.release()
        response.off('close', forget)
        if (isReady) return route(isRetry)
        // It runs without listening, so its port is the reason.
        if (target.process.state.is === 'running') return send(target, true)
        void this.#unready(target, `it was not ready within ${target.holdMs / 1_000} s`).then(refuse)
      })
      response.once('close', forget)
    }
    route(false)
  }

  #subdomainOf({ headers }: IncomingMessage): string | undefined {
    return headers.host === undefined ? undefined : this.#routes.subdomainOf(headers.host)
  }

  #unknown({ headers }: IncomingMessage): OwnAnswer {
    const known = this.#routes.subdomains()
    const message = `No process has the host name "${headers.host}". ${known.length === 0 ? 'No process has a subdomain' : `Subdomains: ${known.join(', ')}`}.`
    return { status: 404, title: 'No such process', message }
  }

  async #unready({ process }: ProxyTarget, why: string): Promise<OwnAnswer> {
    const { name } = process.spec
    const status = statusOf(process.state)
    return {
      status: 503,
      title: `${name} is ${status === 'running' ? 'not ready' : status}`,
      message: `The process "${name}" is ${status}: ${why}.`,
      lines: await this.#parts.lastLines(name, SHOWN_LINES),
      retryAfterS: RETRY_AFTER_S,
    }
  }

  async #down({ process, port }: ProxyTarget, failure: UpstreamFailure): Promise<OwnAnswer> {
    const { is, message, cause } = failure
    const { name } = process.spec
    const status = statusOf(process.state)
    const lines = await this.#parts.lastLines(name, SHOWN_LINES)
    if (is === 'silent')
      return {
        status: 504,
        title: `${name} does not respond`,
        message: `The process "${name}" is ${status}, and did not respond within ${this.#parts.timeoutMs / 1_000} s.`,
        lines,
      }
    if (port !== 0 && (await expectsTls(failure, () => connect({ ...LOCALHOST, port }))))
      return {
        status: 502,
        title: `${name} expects TLS`,
        message: `The process "${name}" expects TLS on port ${port}, but the proxy forwards plain HTTP: let it listen without TLS.`,
        lines,
      }
    if (is === 'invalid')
      return {
        status: 502,
        title: `${name} sent an invalid response`,
        message: `The process "${name}" is ${status}, and its response cannot be forwarded: ${message}.`,
        lines,
      }
    const isRefused = (cause as NodeJS.ErrnoException | undefined)?.code === 'ECONNREFUSED'
    const why =
      port === 0
        ? 'it has no port until it starts'
        : isRefused
          ? `nothing listens on port ${port} of localhost`
          : `the connection to port ${port} was lost`
    const what =
      status !== 'running' ? `is ${status}` : isRefused ? 'is not listening' : 'closed the connection'
    const retryAtMs = retryAtOf(process.state)
    const waitMs = retryAtMs === undefined ? undefined : retryAtMs - this.#parts.clock.wallMs()
    return {
      status: 502,
      title: `${name} ${what}`,
      message: `The process "${name}" is ${status}: ${why}.`,
      lines,
      ...(waitMs !== undefined && { retryAfterS: Math.max(RETRY_AFTER_S, Math.ceil(waitMs / 1_000)) }),
    }
  }
}

function answer(request: IncomingMessage, response: ServerResponse, own: OwnAnswer): void {
  if (response.headersSent || response.destroyed) return
  const { type, body } = renderAnswer(request, own)
  // A held request is paused.
  request.resume()
  const { retryAfterS } = own
  const headers = {
    ...NOTICE_HEADERS,
    'content-type': type,
    ...(retryAfterS !== undefined && { 'retry-after': String(retryAfterS) }),
  }
  sendOwnAnswer(request, response, { status: own.status, headers, body })
}

/** A response of the proxy itself. */
interface OwnAnswer extends Notice {
  readonly status: number
  /** Time after which the client may try again. */
  readonly retryAfterS?: number
}

/** Renders JSON for programs that accept it, otherwise a page. */
function renderAnswer(
  request: IncomingMessage,
  own: OwnAnswer,
): { readonly type: string; readonly body: string } {
  if (/\bjson\b/.test(request.headers.accept ?? ''))
    return {
      type: 'application/json',
      body: JSON.stringify({ error: own.message, code: own.title, lines: own.lines }),
    }
  return { type: 'text/html; charset=utf-8', body: renderNotice(own) }
}
