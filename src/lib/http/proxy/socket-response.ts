import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import type { Duplex } from 'node:stream'
import { ServerResponse as Response } from '../node-http.ts'

/** Returns a response for a request to upgrade, for which Node makes none. The connection ends with the answer. */
export function responseOn(socket: Duplex, request: IncomingMessage): ServerResponse {
  const response = new Response(request)
  response.shouldKeepAlive = false
  response.assignSocket(socket as Socket)
  // Node's server does both for its own responses alone.
  socket.on('drain', () => response.emit('drain'))
  // What was sent behind the request is dropped: unread, it would keep the connection open after its end.
  response.once('finish', () => socket.resume().end())
  return response
}
