import { globSync, readFileSync, readlinkSync } from 'node:fs'
import { basename } from 'node:path'
import { readProcStat, TICK_MS } from '../../src/lib/process/proc-stat.ts'

/** A process of this machine. */
export interface MarkedProcess {
  readonly pid: number
  /** Where it comes from, in one line. */
  readonly description: string
}

/**
 * Finds processes whose environment, working directory or command line names a mark. A daemon that changed its parent, session
 * and group keeps all three. Finds none on systems without /proc.
 */
export function findProcesses(mark: string): readonly MarkedProcess[] {
  const pids = globSync('/proc/[0-9]*').map((path) => Number(basename(path)))
  return pids.filter((pid) => pid !== process.pid).flatMap((pid) => findMarked(pid, mark))
}

function findMarked(pid: number, mark: string): readonly MarkedProcess[] {
  try {
    const environment = readFileSync(`/proc/${pid}/environ`, 'utf8')
    const command = readFileSync(`/proc/${pid}/cmdline`, 'utf8').replaceAll('\0', ' ').trim()
    const directory = readlinkSync(`/proc/${pid}/cwd`)
    if (![environment, command, directory].some((text) => text.includes(mark))) return []
    const { began = '', parent } = readProcStat(pid) ?? {}
    const uptimeS = Number.parseFloat(readFileSync('/proc/uptime', 'utf8'))
    const ageS = Math.round(uptimeS - (Number(began) * TICK_MS) / 1_000)
    return [
      { pid, description: `process ${pid}, ${ageS} s old, child of ${parent}, in ${directory}: ${command}` },
    ]
  } catch {
    // It has ended, it is a zombie, or it belongs to another user.
    return []
  }
}
