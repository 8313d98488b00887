import type { IncomingMessage } from 'node:http'
import type { Duplex } from 'node:stream'
import { text } from 'node:stream/consumers'
import { faultFromAnswer, type ServerAddress, unreachable } from '../../client/server-address.ts'
import { requestTo } from '../../client/server-request.ts'

/** Opens a tunnel through a server's API. @throws the server's own faults, and SERVER_UNREACHABLE when none answers */
export function openTunnelTo(server: ServerAddress, path: string): Promise<Duplex> {
  const headers = { connection: 'Upgrade', upgrade: 'workspace-tcp' }
  return new Promise((resolve, reject) => {
    const asked = requestTo(server, path, { headers })
    // Node's client would answer the end of one half with the end of the other.
    asked.on('socket', (socket) => (socket.allowHalfOpen = true))
    asked.on('upgrade', (_response, socket, head) => {
      socket.setNoDelay(true)
      if (head.length > 0) socket.unshift(head)
      resolve(socket)
    })
    asked.on('response', (response) => void refusal(response).then(reject))
    asked.on('error', (error) => reject(unreachable(server, error.message)))
    asked.end()
  })
}

async function refusal(response: IncomingMessage): Promise<Error> {
  return faultFromAnswer(response.statusCode ?? 500, await text(response))
}
