import { stat } from 'node:fs/promises'
import { fault } from '../../../errors.ts'
import type { GuestReach } from './guest-client.ts'
import { dialGuest } from './guest-line.ts'
import type { MachineFiles } from '../files/machine-files.ts'
import type { SocketDirs } from './socket-dir.ts'

/** Selects root for root's directories, whose files nobody else could write. */
async function userOf(localDir: string): Promise<{ readonly user?: string }> {
  if (localDir === '') return {}
  const owner = await stat(localDir).catch(() => undefined)
  return owner?.uid === 0 ? { user: '0' } : {}
}

/**
 * Returns a function that looks up how to enter a running VM, from its files alone, so that every process of
 * the server can.
 */
export function reachMachine(
  files: MachineFiles,
  sockets: SocketDirs,
): (name: string) => Promise<GuestReach> {
  return async (name) => {
    const reading = await files.read(name)
    const metadata = reading.is === 'valid' ? reading.record : undefined
    const [monitor] = metadata?.run?.processes ?? []
    if (metadata === undefined || metadata.run === null || monitor === undefined)
      throw fault('BACKEND_ERROR', `workspace "${name}" has no running VM`)
    const { line } = metadata.run
    const at = { id: metadata.id, socketDir: sockets.pathOf(metadata.id) }
    return {
      dialGuest: (port) => dialGuest(line, at, port),
      environment: metadata.environment,
      ...(await userOf(metadata.localDir)),
      bootKey: `${monitor.pid} ${monitor.began}`,
    }
  }
}
