import type { ClientRequest, RequestOptions } from 'node:http'
import { request, requestFor } from '../../lib/http/node-http.ts'
import { authorizationOf, type ServerAddress, socketPathOf } from './server-address.ts'

/** Creates a request to a server over TCP or a Unix socket; the caller ends it and reads the response. */
export function requestTo(
  server: ServerAddress,
  path: string,
  options: Omit<RequestOptions, 'headers'> & { readonly headers: Readonly<Record<string, string>> },
): ClientRequest {
  const headers = { ...options.headers, ...authorizationOf(server) }
  const socketPath = socketPathOf(server)
  if (socketPath !== undefined) return request({ ...options, socketPath, path, headers })
  const url = new URL(path, server.url)
  return requestFor(url)(url, { ...options, headers })
}
