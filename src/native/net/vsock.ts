import { Socket } from 'node:net'
import { getAddon, loadAddon } from '../load.ts'

// libuv knows no stream of AF_VSOCK, so each connection comes as a Unix socket that the addon joins it with.

/** Whether this process can use vsock at all; whether the kernel has it is for the calls to say. */
export function canUseVsock(): boolean {
  return loadAddon().is === 'loaded' && process.platform === 'linux'
}

/**
 * Listens on a vsock port for every peer, each known by its address; returns how to stop. Source: vsock(7).
 *
 * @throws Error with code, errno and syscall: EADDRINUSE; EAFNOSUPPORT or ENODEV where the kernel has no vsock
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
 * @throws Error with code, errno and syscall: ECONNRESET when nothing listens there, ENODEV when there is no such peer
 */
export async function connectVsock(cid: number, port: number, timeoutMs: number): Promise<Socket> {
  return socketOf(await getAddon('vsock').connectVsock(cid, port, timeoutMs))
}

/**
 * Opens a device that can be read and written, such as a virtual machine's serial port, as a stream.
 *
 * @throws Error with code, errno and syscall: ENOENT, EBUSY
 */
export function openDevice(path: string): Socket {
  return socketOf(getAddon('a device').openDevice(path))
}

function socketOf(fd: number): Socket {
  return new Socket({ fd, readable: true, writable: true, allowHalfOpen: true })
}
