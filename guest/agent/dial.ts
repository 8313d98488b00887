import { connect, Socket } from 'node:net'
import type { Duplex } from 'node:stream'
import { hostOptions } from '../../src/lib/connection/localhost.ts'
import { messageOf } from '../../src/lib/errors/message.ts'
import { DIAL_CHANNEL } from '../../src/lib/guest/protocol.ts'
import { Mux } from '../../src/lib/mux/mux.ts'
import { GuestFailure } from './failure.ts'
import { portNumber } from './port-number.ts'

const CONNECT_TIMEOUT_MS = 10_000

/** Connects to a port of this machine's loopback address and joins it with the host's accepted connection. */
export async function serveDial(port: unknown, accept: () => Duplex): Promise<void> {
  const target = await connectLocalhost(portNumber(port))
  const mux = new Mux(accept(), { isFirst: false })
  const channel = mux.channel(DIAL_CHANNEL)
  for (const [from, to] of [
    [channel, target],
    [target, channel],
  ] as const) {
    from.on('error', () => undefined)
    from.once('close', () => (from.readableEnded ? undefined : cutOff(to)))
    from.pipe(to)
  }
}

function connectLocalhost(port: number): Promise<Socket> {
  return new Promise((resolve, reject) => {
    const socket = connect({
      ...hostOptions('localhost'),
      port,
      allowHalfOpen: true,
      noDelay: true,
      timeout: CONNECT_TIMEOUT_MS,
    })
    const fail = (error: unknown): void => reject(new GuestFailure('CONNECT_FAILED', messageOf(error)))
    socket.once('error', fail)
    socket.once('timeout', () => socket.destroy(new Error('the port does not respond')))
    socket.once('connect', () => {
      socket.off('error', fail)
      socket.setTimeout(0)
      resolve(socket)
    })
  })
}

/** Resets instead of ending, so that truncated data does not look complete. */
function cutOff(stream: Duplex): void {
  // Only TCP has a reset.
  if (stream instanceof Socket && stream.remoteAddress !== undefined) stream.resetAndDestroy()
  else stream.destroy()
}
