import { Socket } from 'node:net'
import { getAddon, loadAddon } from '../load.ts'

// libuv does not support AF_VSOCK streams, so the addon connects each to a Unix socket.

/** Whether this process can use vsock; the calls fail if the kernel lacks it. */
export function canUseVsock(): boolean {
  return loadAddon().is === 'loaded' && process.platform === 'linux'
}

/**
 * Listens on a vsock port for all peers, identified by their address; returns a function that stops. Source:
 * vsock(7).
 *
 * @throws Error with code, errno and syscall: EADDRINUSE; EAFNOSUPPORT or ENODEV when the kernel lacks vsock
 */
export function listenVsock(
  port: number,
  onConnection: (connection: Socket, peer: number) => void,
): () => void {
  const native = getAddon('vsock')
  const listener = native.listenVsock(port, (fd, peer) => onConnection(socketOf(fd), peer))
  return () => native.stopVsock(listener)
}

/**
 * Connects to a vsock port of a peer.
 *
 * @throws Error with code, errno and syscall: ECONNRESET when nothing listens, ENODEV when the peer does not
 * exist
 */
export async function connectVsock(cid: number, port: number, timeoutMs: number): Promise<Socket> {
  return socketOf(await getAddon('vsock').connectVsock(cid, port, timeoutMs))
}

/**
 * Opens a readable and writable device, such as a virtual machine's serial port, as a stream.
 *
 * @throws Error with code, errno and syscall: ENOENT, EBUSY
 */
export function openDevice(path: string): Socket {
  return socketOf(getAddon('a device').openDevice(path))
}

function socketOf(fd: number): Socket {
  return new Socket({ fd, readable: true, writable: true, allowHalfOpen: true })
}
