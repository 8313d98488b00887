import type { IncomingMessage, Server, ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
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
} from '../../lib/http/proxy/checked-request.ts'
import { forward, type Forwarding, type UpstreamFailure } from '../../lib/http/proxy/forward.ts'
import { type Forwarder, isLoop, toUpstream } from '../../lib/http/proxy/forwarded-headers.ts'
import { keepHead } from '../../lib/http/keep-head.ts'
import { responseOn } from '../../lib/http/proxy/socket-response.ts'
import { statusOf } from '../process/process-state.ts'
import type { CapturedRequest } from './captured-request.ts'
import { Exchange, REPLAY_HEADER } from './exchange.ts'
import type { ProxyRoutes, ProxyTarget } from './proxy-routes.ts'

/** Status if the client disconnected before the response started. */
const CLIENT_LEFT = 499
const SELF: Forwarder = { name: 'supervisor', protocol: 'http' }
const LOOP: OwnAnswer = {
  status: 508,
  title: 'Loop detected',
  message: 'This request has already passed this proxy.',
}
const SHOWN_LINES = 30
const STOP_GRACE_MS = 2_000

/** Dependencies of the proxy. */
export interface ProxyParts {
  readonly routes: ProxyRoutes
  /** Maximum time until a process's response starts. */
  readonly timeoutMs: number
  readonly onRequest: (request: Omit<CapturedRequest, 'id'>) => void
  /** Returns the last lines of a process. */
  readonly lastLines: (process: string, count: number) => Promise<readonly string[]>
}

/** Routes requests to processes by subdomain. */
export class ProxyServer {
  readonly #parts: ProxyParts
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
    const order = new AnswerOrder({ render: ({ message }) => ({ error: message, code: 'Bad request' }) })
    this.#server = createServer({
      headersTimeout: 10_000,
      requestTimeout: 0,
      maxHeaderSize: 65_536,
      // Since Node 24.9; before, every upgrade request reaches the handler below.
      shouldUpgradeCallback: (request) => !order.isBusy(request.socket) && isForwardedUpgrade(request),
    })
    this.#server.keepAliveTimeout = 72_000
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

  async stop(): Promise<void> {
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
    if (isLoop(checked, SELF.name)) return answer(request, response, LOOP)
    const target = subdomain === undefined ? undefined : this.#parts.routes.target(subdomain)
    if (target === undefined) return answer(request, response, this.#unknown(request))
    exchange.process = target.process.spec.name
    forward({
      request: checked,
      response,
      upgrade,
      upstream: { host: '127.0.0.1', port: target.port, agent: this.#agent },
      headers: toUpstream(checked, SELF).filter(([name]) => name.toLowerCase() !== REPLAY_HEADER),
      timeoutMs: this.#parts.timeoutMs,
      onSwitch() {
        hasSwitched = true
        report(101)
      },
      onAnswerBytes: (bytes) => (exchange.responseBytes += bytes.length),
      refuse: (failure) => void this.#down(target, failure).then((own) => answer(request, response, own)),
    })
  }

  #subdomainOf({ headers }: IncomingMessage): string | undefined {
    return headers.host === undefined ? undefined : this.#parts.routes.subdomainOf(headers.host)
  }

  #unknown({ headers }: IncomingMessage): OwnAnswer {
    const known = this.#parts.routes.subdomains()
    const message = `No process has the host name "${headers.host}". ${known.length === 0 ? 'No process has a subdomain' : `Subdomains: ${known.join(', ')}`}.`
    return { status: 404, title: 'No such process', message }
  }

  async #down({ process, port }: ProxyTarget, { is, message, cause }: UpstreamFailure): Promise<OwnAnswer> {
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
    if (is === 'invalid')
      return {
        status: 502,
        title: `${name} sent an invalid response`,
        message: `The process "${name}" is ${status}, and its response cannot be forwarded: ${message}.`,
        lines,
      }
    const why =
      (cause as NodeJS.ErrnoException | undefined)?.code === 'ECONNREFUSED'
        ? `nothing listens on port ${port}`
        : `the connection to port ${port} was lost`
    return {
      status: 502,
      title: `${name} is ${status}`,
      message: `The process "${name}" is ${status}: ${why}.`,
      lines,
    }
  }
}

function answer(request: IncomingMessage, response: ServerResponse, own: OwnAnswer): void {
  if (response.headersSent || response.destroyed) return
  const { type, body } = renderAnswer(request, own)
  const headers = { ...NOTICE_HEADERS, 'content-type': type }
  sendOwnAnswer(request, response, { status: own.status, headers, body })
}

/** A response of the proxy itself. */
interface OwnAnswer extends Notice {
  readonly status: number
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
