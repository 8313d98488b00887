import { uptime } from 'node:os'

export interface Clock {
  readonly now: () => Date
  /** Since the machine's start, sleep included; nobody sets it. */
  readonly uptimeMs: () => number
}

export const systemClock = (now: () => Date): Clock => ({ now, uptimeMs: () => uptime() * 1_000 })

const TOLERATED_MS = 3_600_000

/** Notices when the machine's clock is set while the server runs: ages that it tells are then not to be believed (threat P6). */
export class ClockWatch {
  readonly #clock: Clock
  readonly #offsetMs: number

  constructor(clock: Clock) {
    this.#clock = clock
    this.#offsetMs = this.#offset()
  }

  get now(): Date {
    return this.#clock.now()
  }

  /** The earliest time that it can be, however the clock has been set since this began: nothing is older than that says. */
  get earliest(): Date {
    return new Date(Math.min(this.#clock.now().getTime(), this.#offsetMs + this.#clock.uptimeMs()))
  }

  /** By how much it was set, ahead or back, since this began; 0 for up to an hour. */
  get setByMs(): number {
    const setByMs = this.#offset() - this.#offsetMs
    return Math.abs(setByMs) > TOLERATED_MS ? setByMs : 0
  }

  #offset(): number {
    return this.#clock.now().getTime() - this.#clock.uptimeMs()
  }
}
