import { STATUS_CODES } from './node-http.ts'
import type { Duplex } from 'node:stream'

/** Answers a request that no response object belongs to, as JSON, and ends the connection. */
export function answerRaw(socket: Duplex, status: number, body: unknown): void {
  if (!socket.writable) return void socket.destroy()
  // What was sent behind the request is dropped: unread, it would keep the connection open after its end.
  socket.resume()
  const text = JSON.stringify(body)
  socket.end(
    [
      `HTTP/1.1 ${status} ${STATUS_CODES[status] ?? ''}`,
      'content-type: application/json',
      `content-length: ${Buffer.byteLength(text)}`,
      'connection: close',
      '',
      text,
    ].join('\r\n'),
  )
}
