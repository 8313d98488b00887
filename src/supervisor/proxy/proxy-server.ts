import type { IncomingMessage, Server, ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { type Duplex, pipeline } from 'node:stream'
import { forwardUpgrade } from '../../lib/http/forward-upgrade.ts'
import { endToEnd, type Forwarder, isLoop, toUpstream } from '../../lib/http/forwarded-headers.ts'
import { Agent, createServer, request as httpRequest, STATUS_CODES } from '../../lib/http/node-http.ts'
import { NOTICE_HEADERS } from '../../lib/http/notice-page.ts'
import { answerRaw } from '../../lib/http/raw-answer.ts'
import { statusOf } from '../process/process-state.ts'
import type { CapturedRequest } from './captured-request.ts'
import { type OwnAnswer, renderAnswer } from './down-page.ts'
import { Exchange, REPLAY_HEADER } from './exchange.ts'
import type { ProxyRoutes, ProxyTarget } from './proxy-routes.ts'

/** The client left before its answer began. */
const CLIENT_LEFT = 499
const SELF: Forwarder = { name: 'supervisor', protocol: 'http' }
const SHOWN_LINES = 30
const STOP_GRACE_MS = 2_000

export interface ProxyParts {
  readonly routes: ProxyRoutes
  /** How long a process may be silent before its answer begins. */
  readonly timeoutMs: number
  readonly onRequest: (request: Omit<CapturedRequest, 'id'>) => void
  /** What a process has printed last. */
  readonly lastLines: (process: string, count: number) => Promise<readonly string[]>
}

/** Hands requests on to processes by the subdomain that they are for. */
export class ProxyServer {
  readonly #parts: ProxyParts
  readonly #server: Server
  /** Connections that left HTTP; no server counts them. */
  readonly #upgraded = new Set<Duplex>()
  readonly #agent = new Agent({
    keepAlive: true,
    keepAliveMsecs: 1_000,
    maxFreeSockets: 64,
    scheduling: 'lifo',
  })

  constructor(parts: ProxyParts) {
    this.#parts = parts
    this.#server = createServer({ headersTimeout: 10_000, requestTimeout: 0, maxHeaderSize: 65_536 })
    this.#server.keepAliveTimeout = 72_000
    this.#server.on('request', (request: IncomingMessage, response: ServerResponse) =>
      this.#handle(request, response),
    )
    this.#server.on('upgrade', (request: IncomingMessage, socket, head: Buffer) => {
      this.#upgraded.add(socket)
      socket.once('close', () => this.#upgraded.delete(socket))
      const subdomain = this.#refusal(request) === undefined ? this.#subdomainOf(request) : undefined
      const exchange = new Exchange(request, subdomain ?? '')
      const target = subdomain === undefined ? undefined : parts.routes.target(subdomain)
      exchange.process = target?.process.spec.name
      const report = (status: number): void => parts.onRequest(exchange.finished(status))
      const refuse = (status: number, error: string): void => {
        report(status)
        answerRaw(socket, status, { error, code: STATUS_CODES[status] ?? '' })
      }
      socket.on('error', () => socket.destroy())
      if (target === undefined) return refuse(404, 'there is no such process')
      forwardUpgrade({
        request,
        socket,
        head,
        upstream: { host: '127.0.0.1', port: target.port },
        headers: toUpstream(request, SELF),
        timeoutMs: parts.timeoutMs,
        report,
        refuse: ({ message }) => refuse(502, `the process does not answer: ${message}`),
      })
    })
  }

  /** Resolves with the port. */
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

  #handle(request: IncomingMessage, response: ServerResponse): void {
    const subdomain = this.#subdomainOf(request)
    const exchange = new Exchange(request, subdomain ?? '')
    request.on('data', (bytes: Buffer) => exchange.received(bytes))
    request.on('error', () => undefined)
    response.on('error', () => undefined)
    response.once('close', () => {
      this.#parts.onRequest(exchange.finished(response.headersSent ? response.statusCode : CLIENT_LEFT))
    })
    const refusal = this.#refusal(request)
    if (refusal !== undefined) return answer(request, response, refusal)
    const target = subdomain === undefined ? undefined : this.#parts.routes.target(subdomain)
    if (target === undefined) return answer(request, response, this.#unknown(request))
    exchange.process = target.process.spec.name
    this.#forward({ request, response, exchange, target }, true)
  }

  #subdomainOf({ headers }: IncomingMessage): string | undefined {
    return headers.host === undefined ? undefined : this.#parts.routes.subdomainOf(headers.host)
  }

  /** What no process is to see. */
  #refusal(request: IncomingMessage): OwnAnswer | undefined {
    const hosts = request.rawHeaders.filter((name, at) => at % 2 === 0 && name.toLowerCase() === 'host')
    // Whom it is for would be a matter of opinion (threat H7).
    if (hosts.length !== 1 || !/^\/|^\*$/.test(request.url ?? ''))
      return { status: 400, title: 'Bad request', message: 'A request names one host, and a path.' }
    if (isLoop(request, SELF.name))
      return {
        status: 508,
        title: 'Loop detected',
        message: 'This request has come through this proxy before.',
      }
    return undefined
  }

  #unknown({ headers }: IncomingMessage): OwnAnswer {
    const known = this.#parts.routes.subdomains()
    const message = `No process is called "${headers.host}" here. There ${known.length === 0 ? 'is none' : `are: ${known.join(', ')}`}.`
    return { status: 404, title: 'No such process', message }
  }

  #forward(way: Way, mayRetry: boolean): void {
    const { request, response, exchange, target } = way
    const hasBody =
      request.headers['transfer-encoding'] !== undefined || request.headers['content-length'] !== undefined
    const headers = toUpstream(request, SELF)
      .filter(([name]) => name.toLowerCase() !== REPLAY_HEADER)
      .flat()
    if (request.headers['transfer-encoding'] !== undefined) headers.push('Transfer-Encoding', 'chunked')
    const upstream = httpRequest({
      host: '127.0.0.1',
      port: target.port,
      method: request.method,
      path: request.url,
      headers,
      agent: this.#agent,
    })
    upstream.setTimeout(this.#parts.timeoutMs, () => {
      if (!response.headersSent)
        upstream.destroy(Object.assign(new Error('no answer in time'), { code: 'ETIMEDOUT' }))
    })
    response.once('close', () => upstream.destroy())
    upstream.on('response', (answered) => {
      try {
        response.writeHead(answered.statusCode ?? 502, answered.statusMessage, endToEnd(answered).flat())
      } catch {
        // A header that may not be passed on.
        upstream.destroy()
        return answer(request, response, {
          status: 502,
          title: 'Bad answer',
          message: 'The process answered with a header that is not valid.',
        })
      }
      response.flushHeaders()
      answered.on('data', (bytes: Buffer) => (exchange.responseBytes += bytes.length))
      // What breaks off must not look complete (fault F33): the connection breaks off too.
      pipeline(answered, response, () => undefined)
    })
    upstream.on('error', (error: NodeJS.ErrnoException) => {
      if (response.headersSent || response.destroyed) return void response.destroy()
      // A connection that the process closed just when it was used again.
      const isStale = upstream.reusedSocket && error.code === 'ECONNRESET'
      if (isStale && mayRetry && !hasBody) return this.#forward(way, false)
      void this.#answerDown(way, error)
    })
    if (hasBody) pipeline(request, upstream, () => undefined)
    else upstream.end()
  }

  async #answerDown({ request, response, target }: Way, error: NodeJS.ErrnoException): Promise<void> {
    answer(request, response, await this.#down(target, error))
  }

  async #down({ process, port }: ProxyTarget, error: NodeJS.ErrnoException): Promise<OwnAnswer> {
    const { name } = process.spec
    const status = statusOf(process.state)
    const lines = await this.#parts.lastLines(name, SHOWN_LINES)
    if (error.code === 'ETIMEDOUT')
      return {
        status: 504,
        title: `${name} does not answer`,
        message: `The process "${name}" is ${status}, and took longer than ${this.#parts.timeoutMs / 1_000} s to answer.`,
        lines,
      }
    const why =
      error.code === 'ECONNREFUSED'
        ? `nothing listens on port ${port}`
        : `the connection to port ${port} broke`
    return {
      status: 502,
      title: `${name} is ${status}`,
      message: `The process "${name}" is ${status}: ${why}.`,
      lines,
    }
  }
}

interface Way {
  readonly request: IncomingMessage
  readonly response: ServerResponse
  readonly exchange: Exchange
  readonly target: ProxyTarget
}

function answer(request: IncomingMessage, response: ServerResponse, own: OwnAnswer): void {
  if (response.headersSent || response.destroyed) return
  const { type, body } = renderAnswer(request, own)
  response.writeHead(own.status, {
    ...NOTICE_HEADERS,
    'content-type': type,
    'content-length': Buffer.byteLength(body),
    ...(request.complete ? {} : { connection: 'close' }),
  })
  response.end(request.method === 'HEAD' ? undefined : body)
}
