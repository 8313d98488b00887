import { once } from 'node:events'
import { createServer, type Server, type ServerOptions } from 'node:http'
import type { AddressInfo } from 'node:net'
import { onTestFinished } from 'vitest'

/** Serves HTTP on one loopback address until the test ends: each response is the address. Resolves with the server and its port. */
export async function startLoopbackServer(address: '127.0.0.1' | '::1', options: ServerOptions = {}) {
  const server: Server = createServer(options, (_request, response) => response.end(address))
  server.listen(0, address)
  await once(server, 'listening')
  onTestFinished(() => {
    server.closeAllConnections()
    server.close()
  })
  return { server, port: (server.address() as AddressInfo).port }
}
