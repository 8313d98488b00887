import type { IncomingMessage, ServerResponse } from 'node:http'
import { Socket } from 'node:net'
import type { Duplex } from 'node:stream'
import { asksUpgrade } from './checked-request.ts'
import { announcedTrailers, endToEnd, passedTrailers } from './end-to-end.ts'
import { type Framing, framingOf } from './framing.ts'
import type { HeaderPairs } from './header-pairs.ts'

/** Statuses whose answers have no body, whatever their headers say. */
const BODILESS_STATUSES = new Set([204, 304])

/** Returns an answer's framing, or why it may not be passed on. */
export function checkAnswer(answer: IncomingMessage): Framing | string {
  const { statusCode = 0 } = answer
  if (statusCode < 200) return `the answer has status ${statusCode}`
  const framing = framingOf(answer)
  if (framing.is === 'ambiguous') return `the answer ${framing.why}`
  return framing.is === 'none' ? { is: 'close' } : framing
}

/** Whether no further request can be read: behind a body that was not read whole, or an upgrade that was not made. */
export function mustClose(request: IncomingMessage): boolean {
  return !request.complete || asksUpgrade(request)
}

/**
 * Sends the head of an answer to the client, framed for this connection.
 *
 * @throws what Node throws of a header that it would not send
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
  // Of an answer without a body it says how long the body of a GET would be; a 204 has none (RFC 9110, 8.6).
  if (framing.is === 'length' && statusCode !== 204) framed.push(['Content-Length', String(framing.bytes)])
  if (framing.is === 'chunked' && hasBody && request.httpVersion === '1.1')
    framed.push(...announcedTrailers(answer), ['Transfer-Encoding', 'chunked'])
  response.writeHead(statusCode, statusMessage, framed.flat())
  response.flushHeaders()
}

/**
 * Passes an answer's body on as it comes, with its trailers. Returns how to break it off, which must be called when the upstream
 * fails: Node takes a reset connection for the end of an answer that has no length (fault F33).
 */
export function sendBody(answer: IncomingMessage, response: ServerResponse, framing: Framing): () => void {
  const breakOff = (): void => {
    if (answer.complete || response.destroyed) return
    answer.unpipe(response)
    // Where the end of the connection is the end of the answer, only a reset says that more was to come.
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

/** Ends a response with its connection. One that waits for the answers before it has no connection yet, and ends it in its turn. */
function cutConnection(response: ServerResponse, isReset: boolean): void {
  const cut = (socket: Duplex): void => {
    if (isReset && socket instanceof Socket) socket.resetAndDestroy()
    else socket.destroy()
  }
  if (response.socket === null) response.once('socket', cut)
  else cut(response.socket)
  response.destroy()
}
