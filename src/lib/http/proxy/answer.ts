import type { IncomingMessage, ServerResponse } from 'node:http'
import { Socket } from 'node:net'
import { pipeline } from 'node:stream'
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

/**
 * Sends the head of an answer to the client, framed for this connection. Throws what Node throws of a header that it would not
 * send.
 *
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
  // What is left of the request, or was never read behind an upgrade that was not made, belongs to no further request.
  if (!request.complete || request.headers.upgrade !== undefined) response.shouldKeepAlive = false
  const framed = [...headers]
  // Of an answer without a body it says how long the body of a GET would be; a 204 has none (RFC 9110, 8.6).
  if (framing.is === 'length' && statusCode !== 204) framed.push(['Content-Length', String(framing.bytes)])
  if (framing.is === 'chunked' && hasBody && request.httpVersion === '1.1')
    framed.push(...announcedTrailers(answer), ['Transfer-Encoding', 'chunked'])
  response.writeHead(statusCode, statusMessage, framed.flat())
  response.flushHeaders()
}

/** Passes an answer's body on as it comes, with its trailers. An answer that breaks off breaks off here too (fault F33). */
export function sendBody(answer: IncomingMessage, response: ServerResponse, framing: Framing): void {
  answer.once('end', () => {
    if (response.chunkedEncoding) response.addTrailers(passedTrailers(answer) as [string, string][])
  })
  const { socket } = response
  pipeline(answer, response, (error) => {
    // Where the end of the connection is the end of the answer, only a reset says that more was to come.
    const isUnframed = !response.chunkedEncoding && framing.is !== 'length'
    if (error && isUnframed && socket instanceof Socket) socket.resetAndDestroy()
  })
}
