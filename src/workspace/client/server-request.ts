import { type ClientRequest, request as httpRequest, type RequestOptions } from 'node:http'
import { request as httpsRequest } from 'node:https'
import { authorizationOf, type ServerAddress, socketPathOf } from './server-address.ts'

/** A request to a server, wherever it listens; the caller ends it and takes the answer. */
export function requestTo(
  server: ServerAddress,
  path: string,
  options: Omit<RequestOptions, 'headers'> & { readonly headers: Readonly<Record<string, string>> },
): ClientRequest {
  const headers = { ...options.headers, ...authorizationOf(server) }
  const socketPath = socketPathOf(server)
  if (socketPath !== undefined) return httpRequest({ ...options, socketPath, path, headers })
  const url = new URL(path, server.url)
  return (url.protocol === 'https:' ? httpsRequest : httpRequest)(url, { ...options, headers })
}
