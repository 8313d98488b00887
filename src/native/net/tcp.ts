import type { Socket } from 'node:net'
import { loadAddon } from '../load.ts'
import { socketDescriptor } from './socket-descriptor.ts'

/** How long a connection may be silent before the kernel asks whether its other end is still there. */
const KEEP_ALIVE_MS = 10_000

/**
 * Ends a connection whose other end has vanished within about `timeoutMs` of the next byte sent, or of ten silent
 * seconds; the socket then fails with ETIMEDOUT. Source: TCP_USER_TIMEOUT and SO_KEEPALIVE, tcp(7). Without the addon,
 * elsewhere than on Linux and on other sockets than TCP's, only keep-alive is set.
 */
export function noticeLoss(socket: Socket, timeoutMs: number): void {
  socket.setKeepAlive(true, KEEP_ALIVE_MS)
  const loaded = loadAddon()
  const fd = socketDescriptor(socket)
  if (loaded.is === 'loaded' && fd !== undefined) loaded.addon.setUserTimeout(fd, timeoutMs)
}

/**
 * Acknowledges now what has arrived. By default the kernel waits up to 40 ms for data to send along, and a client that uses Nagle's
 * algorithm sends nothing small meanwhile. Source: TCP_QUICKACK, tcp(7). Does nothing without the addon and elsewhere than on Linux.
 */
export function acknowledgeNow(socket: Socket): void {
  const loaded = loadAddon()
  const fd = socketDescriptor(socket)
  if (loaded.is === 'loaded' && fd !== undefined) loaded.addon.acknowledgeNow(fd)
}
