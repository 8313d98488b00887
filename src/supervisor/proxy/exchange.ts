import type { IncomingMessage } from 'node:http'
import type { CapturedRequest } from './captured-request.ts'
import { MAX_HEAD_BYTES } from '../../lib/http/head-limit.ts'
import { endToEnd } from '../../lib/http/proxy/end-to-end.ts'
import { hasLostHeaders } from '../../lib/http/proxy/header-pairs.ts'

const MAX_BODY_BYTES = 65_536
/** The rest of the limit is for the headers that a replay adds. */
const MAX_KEPT_HEAD_BYTES = MAX_HEAD_BYTES - 1_024
/** Status of an upgrade, whose later bytes are not stored. */
const SWITCHED = 101
/** Header that marks a replay; it is not forwarded. */
export const REPLAY_HEADER = 'x-supervisor-replay-of'
/** Headers that are not stored: those that authenticate the sender, and the mark of a replay. */
const NOT_STORED = new Set(['authorization', 'cookie', 'proxy-authorization', REPLAY_HEADER])

/** A request in progress and its recorded data. */
export class Exchange {
  readonly #request: IncomingMessage
  readonly #startedMs = Date.now()
  readonly #startedNowMs = performance.now()
  readonly #subdomain: string
  readonly #remoteAddress: string
  #body: Buffer[] = []
  #requestBytes = 0
  #heldMs = 0
  #heldSinceMs: number | undefined
  responseBytes = 0
  process: string | undefined

  constructor(request: IncomingMessage, subdomain: string) {
    this.#request = request
    this.#subdomain = subdomain
    // Read now, because a request with a closed connection has no socket.
    this.#remoteAddress = request.socket.remoteAddress ?? ''
  }

  /** Records a chunk of the request's body. */
  received(bytes: Buffer): void {
    this.#requestBytes += bytes.length
    if (this.#requestBytes > MAX_BODY_BYTES) this.#body = []
    else this.#body.push(bytes)
  }

  /** Time that the request has waited for its process. */
  get heldMs(): number {
    return this.#heldMs + (this.#heldSinceMs === undefined ? 0 : performance.now() - this.#heldSinceMs)
  }

  /** Records that the request waits for its process, until `release`. */
  hold(): void {
    this.#heldSinceMs = performance.now()
  }

  release(): void {
    this.#heldMs = this.heldMs
    this.#heldSinceMs = undefined
  }

  finished(statusCode: number): Omit<CapturedRequest, 'id'> {
    const { method = '', url = '', headers } = this.#request
    const replayOf = Number(headers[REPLAY_HEADER])
    return {
      startedMs: this.#startedMs,
      method,
      url,
      host: headers.host ?? '',
      subdomain: this.#subdomain,
      process: this.process,
      statusCode,
      durationMs: Math.round(performance.now() - this.#startedNowMs),
      heldMs: Math.round(this.heldMs),
      remoteAddress: this.#remoteAddress,
      requestBytes: this.#requestBytes,
      responseBytes: this.responseBytes,
      headers: endToEnd(this.#request).filter(([name]) => !NOT_STORED.has(name.toLowerCase())),
      body: Buffer.concat(this.#body),
      lost: this.#lost(statusCode),
      replayOf: Number.isSafeInteger(replayOf) && replayOf > 0 ? replayOf : undefined,
    }
  }

  #lost(statusCode: number): string | undefined {
    const { complete, rawHeaders, rawTrailers, readableLength, url = '' } = this.#request
    if (this.#requestBytes > MAX_BODY_BYTES) return `its body exceeded ${MAX_BODY_BYTES / 1_024} KiB`
    if (!complete || readableLength > 0) return 'its body was not received completely'
    if (hasLostHeaders(rawHeaders)) return 'it had 1,000 headers or more'
    const headBytes = rawHeaders.reduce((sum, each) => sum + each.length, url.length)
    if (headBytes > MAX_KEPT_HEAD_BYTES)
      return `its URL and headers exceeded ${MAX_KEPT_HEAD_BYTES / 1_024} KiB`
    if (rawTrailers.length > 0) return 'it had trailers'
    return statusCode === SWITCHED ? 'it was an upgrade' : undefined
  }
}
