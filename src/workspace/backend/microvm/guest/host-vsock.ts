import type { Socket } from 'node:net'
import { listenVsock } from '../../../../native/net/vsock.ts'
import { MAX_CONNECTIONS } from './guest-ports.ts'

interface Peer {
  readonly onConnection: (port: number, connection: Socket) => void
  readonly connections: Set<Socket>
}

/**
 * VMs by address: those of one host share its ports, and the kernel reports the address of each connection.
 */
const peers = new Map<number, Peer>()
const listening = new Set<number>()

/**
 * Calls `onConnection` for each connection from the VM with this address, on hosts whose kernel has vsock for
 * guests.
 */
export function listenToPeer(
  cid: number,
  ports: readonly number[],
  onConnection: Peer['onConnection'],
): { readonly close: () => void } {
  const peer: Peer = { onConnection, connections: new Set() }
  peers.set(cid, peer)
  for (const port of ports) {
    if (listening.has(port)) continue
    listening.add(port)
    listenVsock(port, (connection, from) => accept(port, connection, peers.get(from)))
  }
  return {
    close() {
      if (peers.get(cid) === peer) peers.delete(cid)
      for (const connection of peer.connections) connection.destroy()
    },
  }
}

function accept(port: number, connection: Socket, peer: Peer | undefined): void {
  connection.on('error', () => undefined)
  if (peer === undefined || peer.connections.size >= MAX_CONNECTIONS) return void connection.destroy()
  peer.connections.add(connection)
  connection.once('close', () => peer.connections.delete(connection))
  peer.onConnection(port, connection)
}
