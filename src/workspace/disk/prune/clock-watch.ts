import { uptime } from 'node:os'
import type { Clock } from '../../../lib/clock/clock.ts'

const TOLERATED_MS = 3_600_000

/** Notices when the machine's clock is set while the server runs: ages that it tells are then not to be believed (threat P6). */
export class ClockWatch {
  readonly #clock: Pick<Clock, 'wallMs'>
  readonly #uptimeMs: () => number
  readonly #offsetMs: number

  /** @param uptimeMs milliseconds since the machine's start, sleep included; nobody sets it */
  constructor(clock: Pick<Clock, 'wallMs'>, uptimeMs = () => uptime() * 1_000) {
    this.#clock = clock
    this.#uptimeMs = uptimeMs
    this.#offsetMs = this.#offset()
  }

  get now(): Date {
    return new Date(this.#clock.wallMs())
  }

  /** The earliest time that it can be, however the clock has been set since this began: nothing is older than that says. */
  get earliest(): Date {
    return new Date(Math.min(this.#clock.wallMs(), this.#offsetMs + this.#uptimeMs()))
  }

  /** By how much it was set, ahead or back, since this began; 0 for up to an hour. */
  get setByMs(): number {
    const setByMs = this.#offset() - this.#offsetMs
    return Math.abs(setByMs) > TOLERATED_MS ? setByMs : 0
  }

  #offset(): number {
    return this.#clock.wallMs() - this.#uptimeMs()
  }
}
