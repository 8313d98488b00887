import { spawn } from 'node:child_process'
import { open } from 'node:fs/promises'
import { setPriority } from 'node:os'
import { messageOf } from '../../../../lib/errors/message.ts'
import { fault } from '../../../errors.ts'
import { identify, type MachineProcess } from './machine-process.ts'

/** A third of the default weight: VMs that use all processors leave time for the server and its clients. */
const NICENESS = 5

/** A process of a VM. It outlives the server, so that VMs keep running while the server restarts. */
export interface Monitor {
  readonly process: MachineProcess
  /** Resolves with its exit status or the signal's name once it has exited. */
  readonly ended: Promise<number | string>
}

/**
 * Starts a monitor or one of its helpers, detached from the server's process group and output.
 *
 * @throws BACKEND_ERROR with the program's name when it cannot be started
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
    throw new Error(`it exited immediately (${await ended})`)
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
    // It has already exited, or the server itself runs at a lower priority.
  }
}
