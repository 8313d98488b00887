import type { Connection, ServerChannel } from '../../../lib/ssh/ssh2.ts'
import { isFault } from '../../../lib/errors/fault.ts'
import type { Logger } from '../../../lib/log/logger.ts'
import { refuseDenied } from '../../tunnel/denied-ports.ts'
import type { Entered } from './gate.ts'
import { joinChannel } from './join-channel.ts'

/** The only destinations; anything else a client writes is refused as it stands, and never resolved (threat S3). */
const LOCALHOST = new Set(['localhost', '127.0.0.1', '::1'])
const MAX_FORWARDS = 500

/** Serves `ssh -L` and `-D`: connections to the workspace's own loopback address. */
export function serveForwards(
  connection: Connection,
  enter: () => Promise<Entered>,
  deniedPorts: readonly number[],
  logger: Logger,
): void {
  let open = 0
  connection.on('tcpip', (accept, reject, { destIP, destPort }) => {
    const isAllowed = LOCALHOST.has(destIP.toLowerCase()) && destPort >= 1 && destPort <= 65_535
    if (!isAllowed || open >= MAX_FORWARDS) return reject()
    open += 1
    const forward = async (): Promise<void> => {
      refuseDenied(destPort, deniedPorts)
      const { backend, name } = await enter()
      const inside = await backend.dial(name, destPort)
      const channel = accept()
      // ssh2 gives nothing when the client has gone meanwhile.
      if ((channel as ServerChannel | undefined) === undefined) return void inside.destroy()
      await joinChannel(channel, inside)
    }
    forward()
      .catch((error: unknown) => {
        if (!isFault(error)) logger.warn({ err: error }, 'an SSH forward failed')
        reject()
      })
      .finally(() => (open -= 1))
  })
}
