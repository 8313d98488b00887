import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import type { Duplex } from 'node:stream'
import { ServerResponse as Response } from '../node-http.ts'

/** Creates a response for an upgrade request, for which Node provides none. The connection closes after it. */
export function responseOn(socket: Duplex, request: IncomingMessage): ServerResponse {
  const response = new Response(request)
  response.shouldKeepAlive = false
  response.assignSocket(socket as Socket)
  // Node's server does both only for its own responses.
  socket.on('drain', () => response.emit('drain'))
  // Data after the request is discarded: unread, it would keep the connection open.
  response.once('finish', () => socket.resume().end())
  return response
}
