import { type Duplex, finished } from 'node:stream'
import { resetSocket } from './reset-socket.ts'

/**
 * Joins two connections in both directions with backpressure. The end of one direction is forwarded and leaves the
 * other open; an error on either closes both. Resolves when both are closed.
 */
export async function joinStreams(left: Duplex, right: Duplex): Promise<void> {
  const closed = [left, right].map(
    (stream) =>
      new Promise<void>((resolve) => (stream.destroyed ? resolve() : stream.once('close', resolve))),
  )
  const bothWays = [
    [left, right],
    [right, left],
  ] as const
  for (const [from, to] of bothWays) {
    from.on('error', () => undefined)
    from.once('close', () => {
      if (!from.readableEnded) return resetSocket(to)
      if (from.writableFinished) return
      // Its peer has vanished after a clean end: what it sent before is still passed on, but nothing can reach it.
      finished(to.resume(), { readable: false }, () => to.destroy())
    })
    from.pipe(to)
  }
  await Promise.all(closed)
}
