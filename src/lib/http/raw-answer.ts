import { STATUS_CODES } from './node-http.ts'
import type { Duplex } from 'node:stream'

/** Sends a JSON response without a response object and closes the connection. */
export function answerRaw(socket: Duplex, status: number, body: unknown): void {
  if (!socket.writable) return void socket.destroy()
  // Data after the request is discarded: unread, it would keep the connection open.
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
