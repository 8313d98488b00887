import { connect } from 'node:net'
import { join } from 'node:path'
import type { Duplex } from 'node:stream'
import { connectVsock } from '../../../../native/net/vsock.ts'
import { dialHybrid } from './hybrid-dial.ts'
import type { MachineRun } from '../files/metadata.ts'

/** Longer than the bridge waits for a serial line. */
const CONNECT_TIMEOUT_MS = 25_000

/** Name of the socket that represents a VM's vsock; for a serial port the server creates it. */
export const VSOCK_SOCKET = 'vsock.sock'

/** Name of a monitor's control socket. */
export const API_SOCKET = 'api.sock'

/** Name of the serial port's socket. */
export const SERIAL_SOCKET = 'serial.sock'

/** Returns the name of the socket for one port, for monitors with a socket per port. */
export function portSocket(port: number): string {
  return `port.sock_${port}`
}

/**
 * Returns the name of the socket on which a guest's connections to a host port arrive, as defined by hybrid
 * vsock.
 */
export function hostPortSocket(port: number): string {
  return `${VSOCK_SOCKET}_${port}`
}

/**
 * Returns the VM's vsock address; 0 to 2 are reserved. Addresses from 2^31 on are legal, but guests of
 * vhost-device-vsock 0.3 that have one cannot be reached.
 */
export function cidOf(id: string): number {
  return 3 + (Number.parseInt(id, 16) % 0x7fff_fff0)
}

/**
 * Connects to a vsock port inside a VM by the method its monitor supports. The VM is identified by its own
 * directory or address, never by the content of the connection. Rejects while nothing listens on the port.
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

/** Connects to a Unix socket. Rejects with the system's error: ENOENT, or ECONNREFUSED if nothing listens. */
export function dialSocket(path: string): Promise<Duplex> {
  return new Promise((resolve, reject) => {
    const socket = connect({ path, allowHalfOpen: true })
    socket.once('error', reject)
    socket.once('connect', () => {
      socket.off('error', reject)
      resolve(socket)
    })
  })
}
