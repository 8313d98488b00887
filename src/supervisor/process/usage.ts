import { readFileSync } from 'node:fs'
import { readProcStat, TICK_MS } from '../../lib/process/proc-stat.ts'
import type { AlarmClock } from '../../lib/clock/clock.ts'
import { descendantsOf } from './process-tree.ts'
import type { ProcessTable } from './process-table.ts'

const FRESH_MS = 1_000

/** Resource usage of a process with all its descendants. */
export interface Usage {
  readonly name: string
  /** Percent of one CPU since the previous request. */
  readonly cpuPercent: number
  readonly memoryBytes: number
}

/** Measures the usage of all processes on request, at most once per second. */
export class UsageMeter {
  readonly #table: ProcessTable
  readonly #clock: AlarmClock
  #takenMs = Number.NEGATIVE_INFINITY
  #usage: readonly Usage[] = []
  #ticks = new Map<number, number>()

  constructor(table: ProcessTable, clock: AlarmClock) {
    this.#table = table
    this.#clock = clock
  }

  read(): readonly Usage[] {
    const nowMs = this.#clock.nowMs()
    const passedMs = nowMs - this.#takenMs
    if (passedMs < FRESH_MS) return this.#usage
    const before = this.#ticks
    this.#takenMs = nowMs
    this.#ticks = new Map()
    this.#usage = this.#table.list().flatMap(({ spec, runs }) => {
      if (runs.length === 0) return []
      let used = 0
      let memoryBytes = 0
      for (const pid of runs.flatMap(({ program: { pid: leader } }) => [leader, ...descendantsOf(leader)])) {
        const ticks = readProcStat(pid)?.cpuTicks
        if (ticks === undefined) continue
        this.#ticks.set(pid, ticks)
        used += ticks - (before.get(pid) ?? ticks)
        memoryBytes += residentBytes(pid)
      }
      const cpuPercent = Number.isFinite(passedMs) ? ((used * TICK_MS) / passedMs) * 100 : 0
      return [{ name: spec.name, cpuPercent: Math.round(cpuPercent * 10) / 10, memoryBytes }]
    })
    return this.#usage
  }
}

function residentBytes(pid: number): number {
  try {
    const [, kilobytes = '0'] = /^VmRSS:\s+(\d+)/m.exec(readFileSync(`/proc/${pid}/status`, 'latin1')) ?? []
    return Number(kilobytes) * 1024
  } catch {
    return 0
  }
}
