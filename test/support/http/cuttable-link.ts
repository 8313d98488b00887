import { type AddressInfo, connect, createServer, type Socket } from 'node:net'
import { onTestFinished } from 'vitest'

/** Relays a port of 127.0.0.1 until the test ends, over connections that can be cut. */
export async function cuttableLink(
  port: number,
): Promise<{ readonly url: string; readonly cut: () => void }> {
  const sockets = new Set<Socket>()
  const cut = (): void => {
    for (const socket of sockets) socket.resetAndDestroy()
  }
  const relay = createServer((near) => {
    const far = connect(port, '127.0.0.1')
    for (const [from, to] of [
      [near, far],
      [far, near],
    ] as const) {
      sockets.add(from)
      from
        .on('error', () => undefined)
        .on('close', () => {
          sockets.delete(from)
          to.destroy()
        })
      from.pipe(to)
    }
  })
  await new Promise<void>((resolve) => relay.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => {
    relay.close()
    cut()
  })
  return { url: `http://127.0.0.1:${(relay.address() as AddressInfo).port}`, cut }
}
