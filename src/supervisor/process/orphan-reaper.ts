import { reapChild } from '../../native/programs/programs.ts'
import { readProcStat } from '../../lib/process/proc-stat.ts'
import type { AlarmClock } from '../../lib/clock/clock.ts'
import { childrenOf, type StrayFinder } from './process-tree.ts'

const LOOK_EVERY_MS = 1_000

/**
 * Reaps orphans that became children of this process, as the first process of a container must. Processes
 * started by Node are reaped by Node: a zombie seen twice in a row is not one of them.
 */
export class OrphanReaper {
  readonly #strays: StrayFinder
  #dead = new Set<number>()
  #cancel: () => void = () => undefined

  constructor(strays: StrayFinder, clock: AlarmClock) {
    this.#strays = strays
    const look = (): void => {
      this.#look()
      this.#cancel = clock.after(LOOK_EVERY_MS, look)
    }
    look()
  }

  stop(): void {
    this.#cancel()
  }

  /** Reaps the zombies of one program's group immediately. */
  reapGroup(leader: number): void {
    for (const pid of childrenOf(process.pid)) {
      const stat = this.#strays.isLeader(pid) ? undefined : readProcStat(pid)
      if (stat?.state === 'Z' && (stat.group === leader || stat.session === leader)) reapChild(pid)
    }
  }

  #look(): void {
    const before = this.#dead
    this.#dead = new Set()
    for (const pid of childrenOf(process.pid)) {
      if (this.#strays.isLeader(pid) || readProcStat(pid)?.state !== 'Z') continue
      if (before.has(pid)) reapChild(pid)
      else this.#dead.add(pid)
    }
  }
}
