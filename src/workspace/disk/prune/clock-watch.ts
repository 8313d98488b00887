import { uptime } from 'node:os'
import type { Clock } from '../../../lib/clock/clock.ts'

const TOLERATED_MS = 3_600_000

/**
 * Detects that the system clock was set while the server runs, in which case measured ages are unreliable
 * (threat P6).
 */
export class ClockWatch {
  readonly #clock: Pick<Clock, 'wallMs'>
  readonly #uptimeMs: () => number
  readonly #offsetMs: number

  /** @param uptimeMs milliseconds since the host started, including sleep; it cannot be set */
  constructor(clock: Pick<Clock, 'wallMs'>, uptimeMs = () => uptime() * 1_000) {
    this.#clock = clock
    this.#uptimeMs = uptimeMs
    this.#offsetMs = this.#offset()
  }

  get now(): Date {
    return new Date(this.#clock.wallMs())
  }

  /**
   * The earliest possible current time, however the clock has been set since the start: items are at least as
   * young as it implies.
   */
  get earliest(): Date {
    return new Date(Math.min(this.#clock.wallMs(), this.#offsetMs + this.#uptimeMs()))
  }

  /** How far the clock was set forward or back since the start; 0 for up to an hour. */
  get setByMs(): number {
    const setByMs = this.#offset() - this.#offsetMs
    return Math.abs(setByMs) > TOLERATED_MS ? setByMs : 0
  }

  #offset(): number {
    return this.#clock.wallMs() - this.#uptimeMs()
  }
}
