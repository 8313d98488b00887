import { readFileSync } from 'node:fs'

/** CPU time and beginnings are told in ticks of this length: user space gets these on every Linux that Node runs on. */
export const TICK_MS = 10

/** What proc(5) says of a process. */
export interface ProcStat {
  /** One letter: Z has ended and was not waited for. */
  readonly state: string
  readonly parent: number
  readonly group: number
  readonly session: number
  /** CPU time in clock ticks, of its user's code and of the kernel for it. */
  readonly cpuTicks: number
  /** When it began, in clock ticks after the machine's start. */
  readonly began: string
}

/** Undefined where there is no such process, and where there is no /proc. */
export function readProcStat(pid: number): ProcStat | undefined {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8')
    // The second field, its name, may hold anything, a parenthesis too; the third is the state, the 22nd the beginning.
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
    return {
      state: fields[0] ?? '',
      parent: Number(fields[1]),
      group: Number(fields[2]),
      session: Number(fields[3]),
      cpuTicks: Number(fields[11]) + Number(fields[12]),
      began: fields[19] ?? '',
    }
  } catch {
    return undefined
  }
}
