import type { Socket } from 'node:net'

/** Returns the file descriptor of a socket, or undefined if it is closed or was never connected. */
export function socketDescriptor(socket: Socket): number | undefined {
  // Node.js exposes it nowhere else.
  // oxlint-disable-next-line no-underscore-dangle
  const fd = (socket as Socket & { readonly _handle?: { readonly fd?: number } | null })._handle?.fd
  return fd !== undefined && fd >= 0 ? fd : undefined
}
