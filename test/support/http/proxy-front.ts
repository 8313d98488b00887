import { once } from 'node:events'
import { Agent, createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { Duplex } from 'node:stream'
import { onTestFinished } from 'vitest'
import { AnswerOrder } from '../../../src/lib/http/answer-order.ts'
import { checkRequest, isForwardedUpgrade } from '../../../src/lib/http/proxy/checked-request.ts'
import { forward, type Forwarding, type UpstreamFailure } from '../../../src/lib/http/proxy/forward.ts'
import { ClientAddress } from '../../../src/lib/http/proxy/client-address.ts'
import { toUpstream } from '../../../src/lib/http/proxy/forwarded-headers.ts'
import { keepHead } from '../../../src/lib/http/keep-head.ts'
import { responseOn } from '../../../src/lib/http/proxy/socket-response.ts'

/** A minimal proxy that answers errors with a status and a message. Resolves with its port. */
export async function startProxyFront(upstreamPort: number, timeoutMs = 5_000) {
  const agent = new Agent({ keepAlive: true })
  const order = new AnswerOrder({ render: ({ message }) => message }, 16_384)
  const failures: UpstreamFailure[] = []
  const handle = (
    message: IncomingMessage,
    response: ServerResponse,
    upgrade?: Forwarding['upgrade'],
  ): void => {
    const answer = (status: number, text: string): void =>
      void response.writeHead(status, { connection: 'close', 'content-length': text.length }).end(text)
    try {
      const request = checkRequest(message)
      forward({
        request,
        response,
        upgrade,
        upstream: { host: '127.0.0.1', port: upstreamPort, agent },
        headers: toUpstream(request, { name: 'front', protocol: 'http', clients: new ClientAddress([]) }),
        timeoutMs,
        refuse(failure) {
          failures.push(failure)
          answer(failure.is === 'silent' ? 504 : 502, failure.message)
        },
      })
    } catch (error) {
      answer(400, String(error))
    }
  }
  const server = createServer({
    maxHeaderSize: 65_536,
    shouldUpgradeCallback: (request) => !order.isBusy(request.socket) && isForwardedUpgrade(request),
  })
  server.on('request', (message: IncomingMessage, response: ServerResponse) => {
    order.follow(message, response)
    handle(message, response)
  })
  server.on('clientError', order.refuse)
  server.on('upgrade', (message: IncomingMessage, socket: Duplex, head: Buffer) => {
    keepHead(socket, head)
    handle(message, responseOn(socket, message), socket)
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  onTestFinished(() => {
    agent.destroy()
    server.closeAllConnections()
    server.close()
  })
  return { port: (server.address() as AddressInfo).port, failures, agent }
}
