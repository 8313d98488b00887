import type { Duplex } from 'node:stream'

/**
 * Joins two connections into one, both ways, with back-pressure. The end of one direction is passed on and leaves the
 * other open; an error on either ends both. Resolves when both are closed.
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
    from.on('error', () => to.destroy())
    from.once('close', () => to.destroy())
    from.pipe(to)
  }
  await Promise.all(closed)
}
