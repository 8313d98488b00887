import type { Socket } from 'node:net'
import { loadAddon } from '../load.ts'
import { socketDescriptor } from './socket-descriptor.ts'

/**
 * Returns for how many milliseconds the peer of a connection has sent nothing, not even the acknowledgment that sent data or
 * a probe waits for; 0 if nothing waits for one. A peer that reads nothing still acknowledges. Source: TCP_INFO, tcp(7).
 * Undefined without the addon, on systems other than Linux, and for sockets that are closed or not TCP.
 */
export function silenceOf(socket: Socket): number | undefined {
  const loaded = loadAddon()
  const fd = socketDescriptor(socket)
  const silenceMs = loaded.is === 'loaded' && fd !== undefined ? loaded.addon.silenceMs(fd) : -1
  return silenceMs < 0 ? undefined : silenceMs
}

/**
 * Limits the time between the kernel's retransmissions and between its probes, which otherwise doubles up to two minutes.
 * Source: TCP_RTO_MAX_MS of Linux 6.15. Does nothing without the addon or on other systems.
 *
 * @param limitMs 1,000 to 120,000
 */
export function limitBackoff(socket: Socket, limitMs: number): void {
  const loaded = loadAddon()
  const fd = socketDescriptor(socket)
  if (loaded.is === 'loaded' && fd !== undefined) loaded.addon.limitBackoff(fd, limitMs)
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
