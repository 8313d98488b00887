import type {
  ClientRequest,
  IncomingMessage,
  RequestOptions,
  ServerResponse,
  InformationEvent,
} from 'node:http'
import type { Duplex } from 'node:stream'
import { type HostOptions, isConnectError } from '../../connection/localhost.ts'
import { messageOf } from '../../errors/message.ts'
import { joinStreams } from '../../process/join-streams.ts'
import { request as httpRequest } from '../node-http.ts'
import { invalidResponse, MAX_HEAD_BYTES } from '../head-limit.ts'
import { checkAnswer, sendBody, sendHead } from './answer.ts'
import { type CheckedRequest, isRepeatable } from './checked-request.ts'
import { announcedTrailers, endToEnd, passedTrailers } from './end-to-end.ts'
import { framingHeaders, hasBody } from './framing.ts'
import { type HeaderPairs, tokensOf, valuesOf } from './header-pairs.ts'

/** Maximum number of interim responses per request. */
const MAX_INTERIM_ANSWERS = 32
/** Errors of a pooled connection that the upstream closed: of a read, and of a write. */
const CLOSED = new Set(['ECONNRESET', 'EPIPE'])
const CLOSED_EARLY = 'the connection closed without a response'

/** A failure before the response started. */
export interface UpstreamFailure {
  /** `silent`: no response in time; `broken`: no connection, or a closed one; `invalid`: a response that cannot be forwarded. */
  readonly is: 'silent' | 'broken' | 'invalid'
  readonly message: string
  readonly cause?: unknown
}

/** A request to forward and its destination. */
export interface Forwarding {
  readonly request: CheckedRequest
  readonly response: ServerResponse
  /** The client's connection; upgrade requests only. */
  readonly upgrade?: Duplex | undefined
  /** With both an agent and `createConnection`, the latter opens the connections that the agent does not pool. */
  readonly upstream: Pick<RequestOptions, 'port' | 'agent' | 'createConnection'> & Partial<HostOptions>
  /** Target to request; default: the request's. */
  readonly target?: string
  /** End-to-end headers for the upstream, without framing. */
  readonly headers: HeaderPairs
  /** Selects the end-to-end response headers for the client; default: all. */
  readonly toClient?: (answer: IncomingMessage) => HeaderPairs
  /** Maximum inactivity before the response starts. */
  readonly timeoutMs: number
  /** Called once when the connection is upgraded. */
  readonly onSwitch?: () => void
  readonly onAnswerBytes?: (bytes: Buffer) => void
  /** Sends an error response. Called at most once, and never after a response started. */
  readonly refuse: (failure: UpstreamFailure) => void
  /**
   * Called instead of `refuse` if no connection could be opened. Nothing of the body has been read, and reading is paused, so the
   * request can be forwarded again.
   */
  readonly onUnreached?: (failure: UpstreamFailure) => void
}

/** Forwards one request and its response. The client always gets a response, an error or a closed connection. */
export function forward(forwarding: Forwarding): void {
  new Exchange(forwarding).send()
}

class Exchange {
  readonly #forwarding: Forwarding
  #state: 'waiting' | 'answered' | 'over' = 'waiting'
  #upstream: ClientRequest | undefined
  #interimAnswers = 0
  readonly #limit: NodeJS.Timeout

  constructor(forwarding: Forwarding) {
    this.#forwarding = forwarding
    const { request, response, timeoutMs } = forwarding
    this.#limit = setTimeout(() => this.#fail({ is: 'silent', message: 'no response in time' }), timeoutMs)
    response.on('error', () => undefined)
    response.once('close', () => this.#end())
    request.message.on('error', () => undefined)
    // Refreshing a cleared timer would restart it.
    request.message.on('data', () => this.#state === 'waiting' && this.#limit.refresh())
  }

  send(isRetry = false): void {
    const { request, target, upgrade, upstream: to } = this.#forwarding
    const { message, framing } = request
    const { method = 'GET' } = message
    let upstream: ClientRequest
    try {
      upstream = httpRequest({
        ...to,
        // Another pooled connection may be stale too, and an upgraded one never returns to the pool.
        ...((isRetry || upgrade !== undefined) &&
          to.agent !== undefined && { agent: to.createConnection === undefined ? false : undefined }),
        method,
        path: target ?? request.target,
        headers: this.#headers(method).flat(),
        maxHeaderSize: MAX_HEAD_BYTES,
      })
      // Only the size counts: by default, Node drops headers after the 1,000th.
      upstream.maxHeadersCount = 0
    } catch (error) {
      return this.#fail({
        is: 'invalid',
        message: `the request cannot be sent: ${messageOf(error)}`,
        cause: error,
      })
    }
    this.#upstream = upstream
    upstream.on('information', (information) => {
      if (++this.#interimAnswers > MAX_INTERIM_ANSWERS)
        return this.#fail({ is: 'invalid', message: 'too many interim responses' })
      passEarlyHints(information, message, this.#forwarding.response)
    })
    upstream.on('upgrade', (answer, far, farHead) => this.#switch(answer, far, farHead))
    upstream.on('response', (answer) => this.#answer(upstream, answer))
    upstream.on('error', (error: NodeJS.ErrnoException) => {
      // The upstream closed the connection just as it was reused.
      const isStale = upstream.reusedSocket && CLOSED.has(error.code ?? '') && this.#interimAnswers === 0
      if (this.#state === 'waiting' && isStale && isRepeatable(request)) return this.send(true)
      const invalid = invalidResponse(error)
      const failure: UpstreamFailure =
        invalid === undefined
          ? {
              is: 'broken',
              message: error.code === 'ECONNRESET' ? CLOSED_EARLY : messageOf(error),
              cause: error,
            }
          : { is: 'invalid', message: invalid, cause: error }
      const { onUnreached } = this.#forwarding
      if (this.#state !== 'waiting' || !isConnectError(error) || onUnreached === undefined)
        return this.#fail(failure)
      this.#release()
      onUnreached(failure)
    })
    upstream.on('close', () => {
      if (this.#upstream === upstream) this.#fail({ is: 'broken', message: CLOSED_EARLY })
    })
    if (!hasBody(framing)) {
      if (message.isPaused()) message.resume()
      return void upstream.end()
    }
    const sendAll = (): void => {
      message.once('end', () => {
        if (framing.is === 'chunked') upstream.addTrailers(passedTrailers(message) as [string, string][])
      })
      // Not pipeline(): if the upstream refuses the body, it would destroy the client's connection and the response.
      message.pipe(upstream)
    }
    if (upstream.reusedSocket) return sendAll()
    // The body is read only when there is a connection for it.
    message.pause()
    upstream.once('socket', (socket) => {
      if (socket.connecting) socket.once('connect', sendAll)
      else sendAll()
    })
  }

  #headers(method: string): HeaderPairs {
    const { request, headers, upgrade, upstream } = this.#forwarding
    const { message, framing } = request
    if (upgrade !== undefined) {
      const protocols = valuesOf(message.rawHeaders, 'upgrade').join(', ')
      const noBody = framingHeaders({ is: 'none' }, method)
      return [...headers, ...noBody, ['Connection', 'Upgrade'], ['Upgrade', protocols]]
    }
    return [
      ...headers,
      ...(framing.is === 'chunked' ? announcedTrailers(message) : []),
      ...framingHeaders(framing, method),
      ...(upstream.agent === undefined ? ([['Connection', 'close']] as const) : []),
    ]
  }

  #answer(upstream: ClientRequest, answer: IncomingMessage): void {
    const { request, response, toClient = endToEnd, onAnswerBytes } = this.#forwarding
    const framing = checkAnswer(answer)
    if (this.#state !== 'waiting') return void upstream.destroy()
    if (typeof framing === 'string') return this.#fail({ is: 'invalid', message: framing })
    // A connection with an unsent part of this request cannot serve another.
    if (!upstream.writableFinished) upstream.shouldKeepAlive = false
    try {
      sendHead(request.message, response, answer, framing, toClient(answer))
    } catch (error) {
      return this.#fail({ is: 'invalid', message: 'the response has an invalid header', cause: error })
    }
    this.#state = 'answered'
    clearTimeout(this.#limit)
    if (onAnswerBytes !== undefined) answer.on('data', onAnswerBytes)
    upstream.on('error', sendBody(answer, response, framing))
  }

  #switch(answer: IncomingMessage, far: Duplex, farHead: Buffer): void {
    const { upgrade, request, response, toClient = endToEnd, onSwitch } = this.#forwarding
    far.on('error', () => far.destroy())
    const [protocol = ''] = valuesOf(answer.rawHeaders, 'upgrade')
    const isAsked = tokensOf(request.message.rawHeaders, 'upgrade').includes(protocol.toLowerCase())
    if (upgrade === undefined || !isAsked || this.#state !== 'waiting') {
      far.destroy()
      return this.#fail({
        is: 'invalid',
        message: 'the response switches to a protocol that was not requested',
      })
    }
    this.#state = 'over'
    clearTimeout(this.#limit)
    onSwitch?.()
    response.detachSocket(upgrade as never)
    const lines = [...toClient(answer), ['Connection', 'Upgrade'], ['Upgrade', protocol]]
    const text = lines.map(([name, value]) => `${name}: ${value}\r\n`).join('')
    upgrade.write(`HTTP/1.1 101 Switching Protocols\r\n${text}\r\n`, 'latin1')
    if (farHead.length > 0) upgrade.write(farHead)
    void joinStreams(upgrade, far)
  }

  #fail(failure: UpstreamFailure): void {
    if (this.#state !== 'waiting') return
    const { response, refuse } = this.#forwarding
    this.#end()
    if (!response.headersSent && !response.destroyed) refuse(failure)
  }

  #end(): void {
    this.#release()
    // The rest of the body is discarded, so that the client reads the response, and Node the next request.
    const { message } = this.#forwarding.request
    message.unpipe()
    message.resume()
  }

  #release(): void {
    this.#state = 'over'
    clearTimeout(this.#limit)
    this.#upstream?.destroy()
  }
}

/**
 * Forwards the links of a 103 response, so that a browser can prefetch. Other interim responses end here: they
 * concern a connection (100, 102) or are unknown. Source: RFC 8297.
 */
function passEarlyHints(
  information: InformationEvent,
  request: IncomingMessage,
  response: ServerResponse,
): void {
  if (information.statusCode !== 103 || request.httpVersion !== '1.1' || response.headersSent) return
  const link = valuesOf(information.rawHeaders, 'link')
  if (link.length === 0) return
  try {
    response.writeEarlyHints({ link: [...link] })
  } catch {
    // Hints are optional; Node refuses invalid links.
  }
}
