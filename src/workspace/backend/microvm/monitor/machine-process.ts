import { setTimeout as delay } from 'node:timers/promises'
import { readProcStat } from '../../../../lib/process/proc-stat.ts'
import { run } from '../../../../lib/process/run.ts'

const LOOK_EVERY_MS = 50

/**
 * A process of a machine, told from another that got its number later: by when it began, in the system's own terms. After a
 * restart of this machine nothing of it is left.
 */
export interface MachineProcess {
  readonly pid: number
  readonly began: string
}

/** What a process that runs now is known by later; undefined when it has ended. */
export async function identify(pid: number): Promise<MachineProcess | undefined> {
  const began = await beginning(pid)
  return began === undefined ? undefined : { pid, began }
}

/** Whether exactly this process runs. */
export async function isRunning({ pid, began }: MachineProcess): Promise<boolean> {
  return (await beginning(pid)) === began
}

/** Sends a signal to exactly this process, if it runs. */
export async function signalProcess(machine: MachineProcess, signal: NodeJS.Signals): Promise<void> {
  if (!(await isRunning(machine))) return
  try {
    process.kill(machine.pid, signal)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error
  }
}

/** Waits until a process has ended; false when it has not within that time. */
export async function hasEndedWithin(machine: MachineProcess, timeoutMs: number): Promise<boolean> {
  const until = performance.now() + timeoutMs
  while (await isRunning(machine)) {
    if (performance.now() > until) return false
    await delay(LOOK_EVERY_MS)
  }
  return true
}

/** When a process began; undefined when there is none, or one that has ended and was not waited for. */
async function beginning(pid: number): Promise<string | undefined> {
  if (process.platform === 'linux') return beginningInProc(pid)
  const { status, stdout } = await run('ps', ['-o', 'lstart=,stat=', '-p', String(pid)])
  const line = stdout.trim()
  return status !== 0 || line === '' || /\bZ\S*$/.test(line)
    ? undefined
    : line.slice(0, line.lastIndexOf(' ')).trim()
}

function beginningInProc(pid: number): string | undefined {
  const stat = readProcStat(pid)
  return stat === undefined || stat.state === 'Z' || stat.state === 'X' ? undefined : stat.began
}
