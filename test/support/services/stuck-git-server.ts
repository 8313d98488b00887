import { createServer, type AddressInfo, type Socket } from 'node:net'
import { onTestFinished } from 'vitest'

/** An HTTP server that accepts git's request and never responds, until the test ends. */
export async function stuckGitServer() {
  const sockets = new Set<Socket>()
  let asked = 0
  const server = createServer((socket) => {
    sockets.add(socket)
    socket.on('error', () => undefined).once('data', () => asked++)
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => {
    server.close()
    for (const socket of sockets) socket.destroy()
  })
  return {
    repo: `http://127.0.0.1:${(server.address() as AddressInfo).port}/owner/repository.git`,
    /** Returns the number of requests received. */
    asked: () => asked,
  }
}
