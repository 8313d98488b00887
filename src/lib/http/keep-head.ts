import type { Duplex } from 'node:stream'

/**
 * Puts data that a client sent after its upgrade request back into its socket. Call it as soon as Node reports the upgrade: a
 * socket without data ends when the client closes its half, and then accepts none.
 */
export function keepHead(socket: Duplex, head: Buffer): void {
  if (head.length > 0) socket.unshift(head)
}
