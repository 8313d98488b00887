import { fault } from '../errors.ts'

/**
 * Refuses ports inside workspaces, such as the one that serves credentials, to clients of the server (threat
 * W8).
 *
 * @throws PORT_DENIED when the port is in tunnel.deny_ports
 */
export function refuseDenied(port: number, deniedPorts: readonly number[]): void {
  if (deniedPorts.includes(port)) {
    throw fault('PORT_DENIED', `port ${port} is denied by this server (tunnel.deny_ports)`)
  }
}
