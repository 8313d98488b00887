import type { IncomingMessage } from 'node:http'
import type { Duplex } from 'node:stream'
import { text } from 'node:stream/consumers'
import { faultFromAnswer, type ServerAddress, unreachable } from './server-address.ts'
import { requestTo } from './server-request.ts'

/** Opens a tunnel through a server's API. @throws the server's faults, and SERVER_UNREACHABLE when it does not respond */
export function openTunnelTo(
  server: ServerAddress,
  path: string,
  { signal }: { readonly signal?: AbortSignal } = {},
): Promise<Duplex> {
  const headers = { connection: 'Upgrade', upgrade: 'workspace-tcp' }
  return new Promise((resolve, reject) => {
    const request = requestTo(server, path, { headers, signal })
    // By default, Node's client closes both directions when one ends.
    request.on('socket', (socket) => (socket.allowHalfOpen = true))
    request.on('upgrade', (_response, socket, head) => {
      socket.setNoDelay(true)
      if (head.length > 0) socket.unshift(head)
      resolve(socket)
    })
    const lost = (error: Error): void => reject(unreachable(server, error.message, error))
    request.on('response', (response) => void refusal(response).then(reject, lost))
    request.on('error', lost)
    request.end()
  })
}

async function refusal(response: IncomingMessage): Promise<Error> {
  return faultFromAnswer(response.statusCode ?? 500, await text(response))
}
