import type { Duplex } from 'node:stream'
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
      // After a clean end the other side may still be sending earlier data.
      if (!from.readableEnded) resetSocket(to)
    })
    from.pipe(to)
  }
  await Promise.all(closed)
}
