import { setTimeout as delay } from 'node:timers/promises'
import { readProcStat } from '../../../../lib/process/proc-stat.ts'
import { run } from '../../../../lib/process/run.ts'

const LOOK_EVERY_MS = 50

/**
 * A process of a VM. Its start time, in the system's own format, distinguishes it from a later process with
 * the same PID. It does not survive a reboot of the host.
 */
export interface MachineProcess {
  readonly pid: number
  readonly began: string
}

/** Returns the identity of a running process; undefined when it has exited. */
export async function identify(pid: number): Promise<MachineProcess | undefined> {
  const began = await beginning(pid)
  return began === undefined ? undefined : { pid, began }
}

/** Returns whether exactly this process is running. */
export async function isRunning({ pid, began }: MachineProcess): Promise<boolean> {
  return (await beginning(pid)) === began
}

/** Signals exactly this process, if it is running. */
export async function signalProcess(machine: MachineProcess, signal: NodeJS.Signals): Promise<void> {
  if (!(await isRunning(machine))) return
  try {
    process.kill(machine.pid, signal)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error
  }
}

/** Waits until a process has exited; resolves to false on timeout. */
export async function hasExitedWithin(machine: MachineProcess, timeoutMs: number): Promise<boolean> {
  const until = performance.now() + timeoutMs
  while (await isRunning(machine)) {
    if (performance.now() > until) return false
    await delay(LOOK_EVERY_MS)
  }
  return true
}

/** Returns a process's start time; undefined when it does not exist or is a zombie. */
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
