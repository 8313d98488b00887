import type { Duplex } from 'node:stream'
import type { Backend } from '../backend/backend.ts'
import { fault } from '../errors.ts'
import { getRunning } from '../lifecycle/get-running.ts'
import { parseWorkspaceName } from '../name.ts'
import type { WorkspaceTable } from '../lifecycle/table.ts'
import type { BackendName } from '../backend-name.ts'
import { refuseDenied } from './denied-ports.ts'

/** A TCP port, in decimal and nothing else (threat W7). @throws INVALID_PORT */
export function parsePort(text: string): number {
  if (/^[1-9]\d{0,4}$/.test(text) && Number(text) <= 65_535) return Number(text)
  throw fault('INVALID_PORT', `port ${JSON.stringify(text.slice(0, 20))} must be a number from 1 to 65535`)
}

/**
 * Connects to a port inside a running workspace, on its loopback address whatever the caller may have named. Throws
 * INVALID_WORKSPACE_NAME, INVALID_PORT, PORT_DENIED, WORKSPACE_NOT_FOUND, CONNECT_FAILED, and WORKSPACE_NOT_RUNNING, here of the
 * kind `unavailable`: the tunnel's own status for it is 503.
 */
export async function openTunnel(
  table: WorkspaceTable,
  backends: ReadonlyMap<BackendName, Backend>,
  nameText: string,
  portText: string,
  deniedPorts: readonly number[],
): Promise<Duplex> {
  const name = parseWorkspaceName(nameText)
  const port = parsePort(portText)
  refuseDenied(port, deniedPorts)
  const { workspace, backend } = getRunning(table, backends, name, 'unavailable')
  return backend.dial(workspace.name, port)
}
