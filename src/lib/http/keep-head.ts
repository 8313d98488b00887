import type { Duplex } from 'node:stream'

/**
 * Puts what a client sent behind its request to upgrade back into its socket. To be called as soon as Node reports the upgrade: a
 * socket without bytes ends with the client's half, and then accepts none.
 */
export function keepHead(socket: Duplex, head: Buffer): void {
  if (head.length > 0) socket.unshift(head)
}
