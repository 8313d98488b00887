import { Socket } from 'node:net'
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
    from.on('error', () => undefined)
    from.once('close', () => {
      // After an end in good order the other side may still be sending what came before it.
      if (!from.readableEnded) cutOff(to)
    })
    from.pipe(to)
  }
  await Promise.all(closed)
}

/** A reset and no end: what was cut off must not look complete. */
function cutOff(stream: Duplex): void {
  // TCP alone has a reset.
  if (stream instanceof Socket && stream.remoteAddress !== undefined) stream.resetAndDestroy()
  else stream.destroy()
}
