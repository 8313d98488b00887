import { readFileSync } from 'node:fs'

/** Length of a clock tick in proc(5), the same on every Linux that Node supports. */
export const TICK_MS = 10

/** Fields of a process in proc(5). */
export interface ProcStat {
  /** One letter; Z is a zombie. */
  readonly state: string
  readonly parent: number
  readonly group: number
  readonly session: number
  /** CPU time in clock ticks, user and kernel. */
  readonly cpuTicks: number
  /** Start time in clock ticks after boot. */
  readonly began: string
}

/** Reads a process's fields; undefined if it does not exist or there is no /proc. */
export function readProcStat(pid: number): ProcStat | undefined {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8')
    // The second field, the name, may contain anything, including parentheses; the third is the state, the 22nd the start time.
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
