import type { ClientRequest, RequestOptions } from 'node:http'
import { request, requestFor } from '../../lib/http/node-http.ts'
import { authorizationOf, type ServerAddress, socketPathOf } from './server-address.ts'

/** A request to a server, wherever it listens; the caller ends it and takes the answer. */
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
