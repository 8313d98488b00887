import type { Socket } from 'node:net'
import { getAddon, loadAddon } from '../load.ts'
import { socketDescriptor } from '../net/socket-descriptor.ts'

/** The descriptors of a pipe's two ends, which are the caller's to close. */
export interface Pipe {
  readonly reader: number
  readonly writer: number
}

/** Whether this process can make pipes and pass them on: Node itself has no function for either. */
export function canPassPipes(): boolean {
  return loadAddon().is === 'loaded' && process.platform === 'linux'
}

/**
 * Makes a pipe with room for so many bytes, or for as many as the system grants, that every user may open anew by
 * /dev/stdin and its like. Source: pipe2(2). There is no JavaScript fallback: callers ask `canPassPipes` first.
 *
 * @throws Error with code, errno and syscall, as from node:fs: EMFILE
 */
export function makePipe(capacityBytes: number): Pipe {
  const [reader, writer] = getAddon('a pipe between programs').makePipe(capacityBytes)
  return { reader, writer }
}

/**
 * Passes descriptors on to who is at the other end of a Unix socket, with one byte. Source: SCM_RIGHTS, unix(7).
 *
 * @throws Error with code, errno and syscall: EPIPE when nobody is there any more
 */
export function sendDescriptors(socket: Socket, descriptors: readonly number[]): void {
  getAddon('a pipe between programs').sendDescriptors(socketDescriptor(socket) ?? -1, descriptors)
}
