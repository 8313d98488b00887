import { Socket } from 'node:net'
import type { Duplex } from 'node:stream'
import { TLSSocket } from 'node:tls'

/**
 * Resets a TCP connection, so that truncated data does not look complete. Other streams are destroyed.
 *
 * While the end of a socket is being sent, Node's `resetAndDestroy` fails with EINVAL: the socket never emits `close`, and the
 * process never exits. The reset waits for that.
 */
export function resetSocket(stream: Duplex): void {
  const isTcp =
    stream instanceof Socket && !(stream instanceof TLSSocket) && stream.remoteAddress !== undefined
  if (!isTcp || stream.destroyed) stream.destroy()
  else if (!isEnding(stream)) stream.resetAndDestroy()
  else stream.once('finish', () => (stream.destroyed ? undefined : stream.resetAndDestroy()))
}

/** Whether everything was written and the end is being sent; before that, a reset discards what is left. */
function isEnding({ writableEnded, writableLength, writableFinished }: Socket): boolean {
  return writableEnded && writableLength === 0 && !writableFinished
}
