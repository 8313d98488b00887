import type { Socket } from 'node:net'
import { loadAddon } from './load.ts'

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
  // Node tells a socket's descriptor nowhere else.
  // oxlint-disable-next-line no-underscore-dangle
  const fd = (socket as Socket & { readonly _handle?: { readonly fd?: number } | null })._handle?.fd
  if (loaded.is === 'loaded' && fd !== undefined && fd >= 0) loaded.addon.setUserTimeout(fd, timeoutMs)
}
