import type { Duplex } from 'node:stream'
import { fault } from '../errors.ts'
import type { Entrance } from '../lifecycle/entrance.ts'
import { parseWorkspaceName } from '../name.ts'
import { refuseDenied } from './denied-ports.ts'

/** Parses a decimal TCP port (threat W7). @throws INVALID_PORT when it is not a port */
export function parsePort(text: string): number {
  if (/^[1-9]\d{0,4}$/.test(text) && Number(text) <= 65_535) return Number(text)
  throw fault('INVALID_PORT', `port ${JSON.stringify(text.slice(0, 20))} must be a number from 1 to 65535`)
}

/**
 * Connects to a port on the loopback address inside a workspace, regardless of the address the caller
 * named.
 *
 * @throws INVALID_WORKSPACE_NAME, INVALID_PORT, PORT_DENIED, WORKSPACE_NOT_FOUND when the request is not
 * valid
 * @throws WORKSPACE_NOT_RUNNING with kind `unavailable`, because the tunnel's own status for it is 503
 * @throws CONNECT_FAILED when nothing accepts the connection
 */
export async function openTunnel(
  entrance: Pick<Entrance, 'enter'>,
  nameText: string,
  portText: string,
  deniedPorts: readonly number[],
): Promise<Duplex> {
  const name = parseWorkspaceName(nameText)
  const port = parsePort(portText)
  refuseDenied(port, deniedPorts)
  const { workspace, backend } = await entrance.enter(name, 'unavailable')
  return backend.dial(workspace.name, port)
}
