import { lastCronMs } from '../../lib/clock/cron.ts'
import { type EffectiveSchedule, nextTimes } from '../schedule.ts'

/** A clock set back by at least this much was wrong before, and its times count again, as in cron. */
const CORRECTION_MS = 3 * 3_600_000

/** A scheduled time that has come. */
export interface ScheduledEvent {
  readonly is: 'start' | 'stop'
  readonly atMs: number
}

/**
 * Determines which times of a schedule have come. Each counts once, also if the system clock is set back over it. If several
 * have come since the last check, because the server did not run or the clock was set, only the last counts.
 */
export class ScheduleWatch {
  readonly schedule: EffectiveSchedule
  #handledMs: number
  #nextMs: number

  /**
   * Begins to watch.
   *
   * @param handledMs system time until which the schedule has been followed
   */
  constructor(schedule: EffectiveSchedule, handledMs: number) {
    this.schedule = schedule
    this.#handledMs = handledMs
    this.#nextMs = this.#findNext()
  }

  /** System time until which the schedule has been followed. */
  get handledMs(): number {
    return this.#handledMs
  }

  /** System time of the next event; Infinity if there is none. */
  get nextMs(): number {
    return this.#nextMs
  }

  /** Returns the last event that has come since the check before; a start before a stop at the same time. */
  check(wallMs: number): ScheduledEvent | undefined {
    if (wallMs <= this.#handledMs - CORRECTION_MS) this.#handle(wallMs)
    if (wallMs < this.#nextMs) {
      this.#handledMs = Math.max(this.#handledMs, wallMs)
      return undefined
    }
    const startMs = this.#lastOf(this.schedule.start, wallMs)
    const stopMs = this.#lastOf(this.schedule.stop, wallMs)
    this.#handle(wallMs)
    if (startMs !== undefined && startMs >= (stopMs ?? 0)) return { is: 'start', atMs: startMs }
    return stopMs === undefined ? undefined : { is: 'stop', atMs: stopMs }
  }

  #handle(wallMs: number): void {
    this.#handledMs = wallMs
    this.#nextMs = this.#findNext()
  }

  #findNext(): number {
    const { startMs = Infinity, stopMs = Infinity } = nextTimes(this.schedule, this.#handledMs)
    return Math.min(startMs, stopMs)
  }

  #lastOf(time: string | undefined, wallMs: number): number | undefined {
    const { timeZone } = this.schedule
    return time === undefined ? undefined : lastCronMs(time, this.#handledMs, wallMs, timeZone)
  }
}
