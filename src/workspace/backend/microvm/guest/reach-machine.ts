import { stat } from 'node:fs/promises'
import { ignore } from '../../../../lib/errors/ignore.ts'
import { fault } from '../../../errors.ts'
import type { GuestReach } from './guest-client.ts'
import { dialGuest } from './guest-line.ts'
import type { MachineFiles } from '../files/machine-files.ts'
import type { SocketDirs } from './socket-dir.ts'

/** Selects root for root's directories, whose files nobody else could write. */
async function userOf(localDir: string): Promise<{ readonly user?: string }> {
  if (localDir === '') return {}
  const owner = await stat(localDir).catch(ignore('a missing directory is without an owner'))
  return owner?.uid === 0 ? { user: '0' } : {}
}

/**
 * Returns a function that looks up how to enter a running or suspended VM, from its files alone, so that every process of
 * the server can.
 */
export function reachMachine(
  files: MachineFiles,
  sockets: SocketDirs,
): (name: string) => Promise<GuestReach> {
  return async (name) => {
    const reading = await files.read(name)
    const metadata = reading.is === 'valid' ? reading.record : undefined
    const agentToken = metadata?.run?.agentToken ?? metadata?.memory?.agentToken
    if (metadata === undefined || agentToken === undefined)
      throw fault('WORKSPACE_NOT_RUNNING', `workspace "${name}" has no running VM`)
    const { id, run, environment, localDir } = metadata
    return {
      dialGuest: (port) =>
        run === null
          ? Promise.reject(new Error('it is suspended'))
          : dialGuest(run.line, { id, socketDir: sockets.pathOf(id) }, port),
      environment,
      ...(await userOf(localDir)),
      bootKey: agentToken,
    }
  }
}
