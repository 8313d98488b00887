import { fault } from '../errors.ts'

/**
 * Keeps ports inside workspaces, such as the one that hands out credentials, from whoever can reach the server (threat
 * W8).
 *
 * @throws PORT_DENIED
 */
export function refuseDenied(port: number, deniedPorts: readonly number[]): void {
  if (deniedPorts.includes(port)) {
    throw fault('PORT_DENIED', `port ${port} may not be reached through this server (tunnel.deny_ports)`)
  }
}
