import type { Socket } from 'node:net'
import { getAddon, loadAddon } from '../load.ts'
import { socketDescriptor } from '../net/socket-descriptor.ts'

/** Descriptors of a pipe, which the caller must close. */
export interface Pipe {
  readonly reader: number
  readonly writer: number
}

/** Whether this process can create pipes and pass descriptors: Node.js itself can do neither. */
export function canPassPipes(): boolean {
  return loadAddon().is === 'loaded' && process.platform === 'linux'
}

/**
 * Creates a pipe with a capacity in bytes, or what the system grants, that every user may reopen through
 * /dev/stdin and similar paths. Source: pipe2(2). There is no JavaScript fallback: callers check
 * `canPassPipes` first.
 *
 * @throws Error with code, errno and syscall, as from node:fs: EMFILE
 */
export function makePipe(capacityBytes: number): Pipe {
  const [reader, writer] = getAddon('a pipe between programs').makePipe(capacityBytes)
  return { reader, writer }
}

/**
 * Sends descriptors to the peer of a Unix socket, with one byte. Source: SCM_RIGHTS, unix(7).
 *
 * @throws Error with code, errno and syscall: EPIPE when the peer closed
 */
export function sendDescriptors(socket: Socket, descriptors: readonly number[]): void {
  getAddon('a pipe between programs').sendDescriptors(socketDescriptor(socket) ?? -1, descriptors)
}
