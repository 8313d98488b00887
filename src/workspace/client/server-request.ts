import type { ClientRequest, IncomingMessage, RequestOptions } from 'node:http'
import type { Readable } from 'node:stream'
import { messageOf } from '../../lib/errors/message.ts'
import { request, requestFor } from '../../lib/http/node-http.ts'
import { authorizationOf, type ServerAddress, socketPathOf, unreachable } from './server-address.ts'

/** Streams carry a comment every 15 s, so a longer silence means that the server has vanished (fault F31). */
const SILENCE_MS = 45_000

type Options = Omit<RequestOptions, 'headers'> & { readonly headers: Readonly<Record<string, string>> }

/** Sends a request to a server; the caller reads the response. @throws SERVER_UNREACHABLE when there is none */
export function responseTo(
  server: ServerAddress,
  path: string,
  options: Options,
  body?: string | Uint8Array | Readable,
): Promise<IncomingMessage> {
  return new Promise((resolve, reject) => {
    const sent = requestTo(server, path, options)
      .on('response', resolve)
      .on('error', (error) => reject(unreachable(server, messageOf(error), error)))
    if (body === undefined || typeof body === 'string' || body instanceof Uint8Array) sent.end(body)
    else {
      body.on('error', (error) => {
        reject(error)
        sent.destroy()
      })
      sent.once('close', () => body.destroy())
      // The server refuses the request before its end: the rest need not be sent.
      sent.once('response', (response: IncomingMessage) => response.once('end', () => sent.destroy()))
      body.pipe(sent)
    }
  })
}

/** Ends a response that is a stream of events, with an error, when nothing has arrived for 45 s. */
export function endWhenSilent(response: IncomingMessage): void {
  response.socket.setTimeout(SILENCE_MS, () => response.destroy(new Error('no data received')))
}

/** Creates a request to a server over TCP or a Unix socket; the caller ends it and reads the response. */
export function requestTo(server: ServerAddress, path: string, options: Options): ClientRequest {
  const headers = { ...options.headers, ...authorizationOf(server) }
  const socketPath = socketPathOf(server)
  if (socketPath !== undefined) return request({ ...options, socketPath, path, headers })
  const url = new URL(path, server.url)
  return requestFor(url)(url, { ...options, headers })
}
