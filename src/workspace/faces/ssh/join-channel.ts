import type { Duplex } from 'node:stream'
import type { Channel } from '../../../lib/ssh/ssh2.ts'

const NOTHING = Buffer.alloc(0)

/**
 * Joins a channel and a connection until both are closed. The end of one direction leaves the other open, which ssh2's
 * own `end` would not: on a server it closes the channel with it.
 */
export async function joinChannel(channel: Channel, inside: Duplex): Promise<void> {
  const closed = new Promise<void>((resolve) => channel.once('close', resolve))
  channel.on('error', () => inside.destroy())
  inside.on('error', () => channel.destroy())
  channel.pipe(inside)
  inside.pipe(channel, { end: false })
  // Written and not called: the end would overtake what still waits for the client's window, which is then lost.
  inside.once('end', () => channel.write(NOTHING, () => channel.eof()))
  inside.once('close', () => channel.end())
  channel.once('close', () => inside.destroy())
  await closed
}
