import type { Socket } from 'node:net'
import { loadAddon } from '../load.ts'
import { socketDescriptor } from './socket-descriptor.ts'

/** Silence after which the kernel probes the peer. */
const KEEP_ALIVE_MS = 10_000

/**
 * Closes a connection whose peer vanished within about `timeoutMs` of the next byte sent, or of ten silent
 * seconds; the socket then fails with ETIMEDOUT. Source: TCP_USER_TIMEOUT and SO_KEEPALIVE, tcp(7). Without
 * the addon, on systems other than Linux and for sockets other than TCP, only keep-alive is set.
 */
export function noticeLoss(socket: Socket, timeoutMs: number): void {
  socket.setKeepAlive(true, KEEP_ALIVE_MS)
  const loaded = loadAddon()
  const fd = socketDescriptor(socket)
  if (loaded.is === 'loaded' && fd !== undefined) loaded.addon.setUserTimeout(fd, timeoutMs)
}

/**
 * Acknowledges received data immediately. By default the kernel waits up to 40 ms for data to send along, and
 * a client with Nagle's algorithm sends no small data meanwhile. Source: TCP_QUICKACK, tcp(7). Does nothing
 * without the addon or on systems other than Linux.
 */
export function acknowledgeNow(socket: Socket): void {
  const loaded = loadAddon()
  const fd = socketDescriptor(socket)
  if (loaded.is === 'loaded' && fd !== undefined) loaded.addon.acknowledgeNow(fd)
}
