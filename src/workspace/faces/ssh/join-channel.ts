import type { Duplex } from 'node:stream'
import type { Channel } from '../../../lib/ssh/ssh2.ts'

const NOTHING = Buffer.alloc(0)

/**
 * Pipes a channel and a connection into each other until both are closed. Closing one direction leaves the other open; ssh2's
 * own `end` does not, because on a server it also closes the channel.
 */
export async function joinChannel(channel: Channel, inside: Duplex): Promise<void> {
  const closed = new Promise<void>((resolve) => channel.once('close', resolve))
  channel.on('error', () => inside.destroy())
  inside.on('error', () => channel.destroy())
  channel.pipe(inside)
  inside.pipe(channel, { end: false })
  // Written, not called: a direct EOF would overtake data waiting for the client's window, and the data would be lost.
  inside.once('end', () => channel.write(NOTHING, () => channel.eof()))
  inside.once('close', () => channel.end())
  channel.once('close', () => inside.destroy())
  await closed
}
