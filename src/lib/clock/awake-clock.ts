import { type Clock, systemClock } from './clock.ts'

/**
 * A monotonic clock that advances only while this process runs: of the time since the last tick, it counts at most
 * `longestTickMs`. With it a process that was stopped, or computed without a pause, does not take its own silence for
 * that of a peer, whose answer it has not read yet.
 */
export class AwakeClock {
  readonly #longestTickMs: number
  readonly #clock: Pick<Clock, 'nowMs'>
  #tickMs: number
  #skippedMs = 0

  constructor(longestTickMs: number, clock: Pick<Clock, 'nowMs'> = systemClock) {
    this.#longestTickMs = longestTickMs
    this.#clock = clock
    this.#tickMs = clock.nowMs()
  }

  /** Milliseconds of the monotonic clock, less those that were not noticed. */
  nowMs(): number {
    return Math.min(this.#clock.nowMs(), this.#tickMs + this.#longestTickMs) - this.#skippedMs
  }

  /** Notices the current time. The caller does so more often than every `longestTickMs`. */
  tick(): void {
    const tickMs = this.#clock.nowMs()
    this.#skippedMs += Math.max(0, tickMs - this.#tickMs - this.#longestTickMs)
    this.#tickMs = tickMs
  }
}
