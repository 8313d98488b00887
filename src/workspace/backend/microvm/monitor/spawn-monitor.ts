import { spawn } from 'node:child_process'
import { open } from 'node:fs/promises'
import { setPriority } from 'node:os'
import { messageOf } from '../../../../lib/errors/message.ts'
import { fault } from '../../../errors.ts'
import { identify, type MachineProcess } from './machine-process.ts'

/** A third of the weight that other programs have: a machine whose processors are all busy leaves some to the server and its clients. */
const NICENESS = 5

/** A program of a machine, which outlives the server: the machine goes on when that is started anew. */
export interface Monitor {
  readonly process: MachineProcess
  /** Resolves when it has ended, with its status or the signal's name. */
  readonly ended: Promise<number | string>
}

/**
 * Starts a monitor or one of its helpers, apart from the server's own group and output.
 *
 * @throws BACKEND_ERROR, with the program's name, when it cannot be started
 */
export async function spawnMonitor(
  program: string,
  argv: readonly string[],
  logFile: string,
): Promise<Monitor> {
  const log = await open(logFile, 'a', 0o600)
  try {
    const child = spawn(program, argv, { detached: true, cwd: '/', stdio: ['ignore', log.fd, log.fd] })
    yieldToServer(child.pid)
    const ended = new Promise<number | string>((resolve) => {
      child.once('exit', (status, signal) => resolve(signal ?? status ?? 0))
    })
    await new Promise<void>((resolve, reject) => child.once('spawn', resolve).once('error', reject))
    child.unref()
    const process = child.pid === undefined ? undefined : await identify(child.pid)
    if (process !== undefined) return { process, ended }
    throw new Error(`it ended at once (${await ended})`)
  } catch (error) {
    throw fault('BACKEND_ERROR', `${program} cannot be started: ${messageOf(error)}`, error)
  } finally {
    await log.close()
  }
}

function yieldToServer(pid: number | undefined): void {
  try {
    if (pid !== undefined) setPriority(pid, NICENESS)
  } catch {
    // It has ended already, or the server itself runs with less.
  }
}
