import type { Socket } from 'node:net'
import { listenVsock } from '../../../native/vsock.ts'

type Heard = (port: number, connection: Socket) => void

/** Machines by their addresses: all of a host's come in on the same ports, and the kernel says whose a connection is. */
const peers = new Map<number, Heard>()
const listening = new Set<number>()

/** Hears of what the machine with this address connects to, where the host's own kernel has vsock for its guests. */
export function listenToPeer(
  cid: number,
  ports: readonly number[],
  heard: Heard,
): { readonly close: () => void } {
  peers.set(cid, heard)
  for (const port of ports) {
    if (listening.has(port)) continue
    listening.add(port)
    listenVsock(port, (connection, peer) => {
      const known = peers.get(peer)
      connection.on('error', () => undefined)
      if (known === undefined) connection.destroy()
      else known(port, connection)
    })
  }
  return {
    close() {
      if (peers.get(cid) === heard) peers.delete(cid)
    },
  }
}
