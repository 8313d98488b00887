import { request } from 'node:http'
import type { Duplex } from 'node:stream'

/** A server's response to a tunnel request: the tunnel, or a status and a body. */
export type TunnelAnswer =
  | { readonly status: 101; readonly stream: Duplex }
  | { readonly status: number; readonly stream: undefined; readonly body: string }

/** Requests a tunnel; `early` is sent directly after the request, without waiting for the response. */
export function openHttpTunnel(
  url: string,
  options: { readonly headers?: Record<string, string>; readonly early?: Buffer } = {},
): Promise<TunnelAnswer> {
  return new Promise((resolve, reject) => {
    const asked = request(url, {
      headers: { connection: 'Upgrade', upgrade: 'workspace-tcp', ...options.headers },
    })
    asked.on('upgrade', (_response, socket, head) => {
      if (head.length > 0) socket.unshift(head)
      resolve({ status: 101, stream: socket })
    })
    asked.on('response', (response) => {
      let body = ''
      response.setEncoding('utf8').on('data', (chunk) => (body += chunk))
      response.on('end', () => resolve({ status: response.statusCode ?? 0, stream: undefined, body }))
    })
    asked.on('error', reject)
    asked.on('socket', (socket) => {
      // So that the client can send EOF and still read.
      socket.allowHalfOpen = true
      if (options.early !== undefined) {
        const early = options.early
        socket.once('connect', () => setImmediate(() => socket.write(early)))
      }
    })
    asked.end()
  })
}
