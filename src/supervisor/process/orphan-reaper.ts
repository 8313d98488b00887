import { reapChild } from '../../native/programs/programs.ts'
import { readProcStat } from '../../lib/process/proc-stat.ts'
import type { AlarmClock } from '../../lib/clock/clock.ts'
import { childrenOf, type StrayFinder } from './process-tree.ts'

const LOOK_EVERY_MS = 1_000

/**
 * Lets go of processes that ended after they had become children of this one, as the first process of a container must. Those
 * that Node itself has started are waited for by Node: a dead one that is there twice in a row is none of these.
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

  /** Lets go of the dead of one program's group at once. */
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
