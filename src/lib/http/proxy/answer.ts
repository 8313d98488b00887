import type { IncomingMessage, OutgoingHttpHeaders, ServerResponse } from 'node:http'
import type { Duplex } from 'node:stream'
import { resetSocket } from '../../process/reset-socket.ts'
import { asksUpgrade } from './checked-request.ts'
import { announcedTrailers, endToEnd, passedTrailers } from './end-to-end.ts'
import { type Framing, framingOf } from './framing.ts'
import type { HeaderPairs } from './header-pairs.ts'

/** Statuses of responses without a body, regardless of their headers. */
const BODILESS_STATUSES = new Set([204, 304])

/** Returns a response's framing, or the reason it cannot be forwarded. */
export function checkAnswer(answer: IncomingMessage): Framing | string {
  const { statusCode = 0 } = answer
  if (statusCode < 200) return `the response has status ${statusCode}`
  const framing = framingOf(answer)
  if (framing.is === 'ambiguous') return `the response ${framing.why}`
  return framing.is === 'none' ? { is: 'close' } : framing
}

/** Sends a response of the proxy itself, such as an error. */
export function sendOwnAnswer(
  request: IncomingMessage,
  response: ServerResponse,
  {
    status,
    headers,
    body,
  }: { readonly status: number; readonly headers: OutgoingHttpHeaders; readonly body: string },
): void {
  response.writeHead(status, {
    ...headers,
    'content-length': Buffer.byteLength(body),
    ...(mustClose(request) ? { connection: 'close' } : {}),
  })
  response.end(request.method === 'HEAD' ? undefined : body)
}

/** Whether the connection cannot carry further requests: after an incomplete body or a declined upgrade. */
function mustClose(request: IncomingMessage): boolean {
  return !request.complete || asksUpgrade(request)
}

/**
 * Sends the head of a response to the client, framed for this connection.
 *
 * @throws Node's error for an invalid header
 * @param headers the end-to-end headers that the client may see
 */
export function sendHead(
  request: IncomingMessage,
  response: ServerResponse,
  answer: IncomingMessage,
  framing: Framing,
  headers: HeaderPairs = endToEnd(answer),
): void {
  const { statusCode = 502, statusMessage } = answer
  const hasBody = request.method !== 'HEAD' && !BODILESS_STATUSES.has(statusCode)
  if (mustClose(request)) response.shouldKeepAlive = false
  const framed = [...headers]
  // In a response without a body it is the length of a GET's body; a 204 has none (RFC 9110, 8.6).
  if (framing.is === 'length' && statusCode !== 204) framed.push(['Content-Length', String(framing.bytes)])
  if (framing.is === 'chunked' && hasBody && request.httpVersion === '1.1')
    framed.push(...announcedTrailers(answer), ['Transfer-Encoding', 'chunked'])
  response.writeHead(statusCode, statusMessage, framed.flat())
  response.flushHeaders()
}

/**
 * Forwards a response's body and trailers as they arrive. Returns a function that cuts it off, which must be called when the upstream
 * fails: Node takes a reset connection for the end of a response without a length (fault F33).
 */
export function sendBody(answer: IncomingMessage, response: ServerResponse, framing: Framing): () => void {
  const breakOff = (): void => {
    if (answer.complete || response.destroyed) return
    answer.unpipe(response)
    // If the end of the connection ends the response, only a reset shows that it is incomplete.
    cutConnection(response, !response.chunkedEncoding && framing.is !== 'length')
  }
  answer.once('end', () => {
    if (response.chunkedEncoding) response.addTrailers(passedTrailers(answer) as [string, string][])
  })
  answer.on('error', breakOff)
  answer.once('close', breakOff)
  answer.pipe(response)
  return breakOff
}

/** Closes a response's connection. A response that waits for earlier ones has none yet and closes it later. */
function cutConnection(response: ServerResponse, isReset: boolean): void {
  const cut = (socket: Duplex): void => {
    if (isReset) resetSocket(socket)
    else socket.destroy()
  }
  if (response.socket === null) response.once('socket', cut)
  else cut(response.socket)
  response.destroy()
}
