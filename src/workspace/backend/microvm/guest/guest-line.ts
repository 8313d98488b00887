import { connect } from 'node:net'
import { join } from 'node:path'
import type { Duplex } from 'node:stream'
import { connectVsock } from '../../../../native/net/vsock.ts'
import { dialHybrid } from './hybrid-dial.ts'
import type { MachineRun } from '../files/metadata.ts'

const CONNECT_TIMEOUT_MS = 10_000

/** The socket that stands for a machine's vsock, in its directory; for a serial port the server puts one there. */
export const VSOCK_SOCKET = 'vsock.sock'

/** By which a monitor is told what to do, where that is all it is told by. */
export const API_SOCKET = 'api.sock'

/** The serial port's socket, where that is all there is. */
export const SERIAL_SOCKET = 'serial.sock'

/** The socket that stands for one of its ports, where each has its own. */
export function portSocket(port: number): string {
  return `port.sock_${port}`
}

/** Where a guest's connections to a port of the host's come in, as hybrid vsock has it. */
export function hostPortSocket(port: number): string {
  return `${VSOCK_SOCKET}_${port}`
}

/**
 * The machine's vsock address: 0 to 2 are taken. Those from 2^31 on are legal, and guests of vhost-device-vsock 0.3 that have
 * one answer nobody.
 */
export function cidOf(id: string): number {
  return 3 + (Number.parseInt(id, 16) % 0x7fff_fff0)
}

/**
 * Connects to a vsock port inside a machine, whichever way its monitor offers. The machine is told by its own directory or
 * address and never by what is said on the connection. Rejects while nobody listens there.
 */
export async function dialGuest(
  line: MachineRun['line'],
  at: { readonly id: string; readonly socketDir: string },
  port: number,
): Promise<Duplex> {
  if (line === 'ports') return dialSocket(join(at.socketDir, portSocket(port)))
  if (line === 'vsock') return connectVsock(cidOf(at.id), port, CONNECT_TIMEOUT_MS)
  return dialHybrid(join(at.socketDir, VSOCK_SOCKET), port, CONNECT_TIMEOUT_MS)
}

function dialSocket(path: string): Promise<Duplex> {
  return new Promise((resolve, reject) => {
    const socket = connect({ path, allowHalfOpen: true })
    socket.once('error', reject)
    socket.once('connect', () => {
      socket.off('error', reject)
      resolve(socket)
    })
  })
}
