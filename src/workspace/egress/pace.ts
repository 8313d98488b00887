import type { AlarmClock } from '../../lib/clock/clock.ts'

/** Requests and tunnels at once, and per second afterwards; they share the server's processor with other workspaces. */
const BURST = 1_000
const PER_SECOND = 300

/** Delays a workspace's requests that exceed a rate, so that one workspace cannot keep the server busy. */
export class Pace {
  readonly #clock: AlarmClock
  #left = BURST
  #atMs: number

  constructor(clock: AlarmClock) {
    this.#clock = clock
    this.#atMs = clock.nowMs()
  }

  /** Resolves when the next request may begin; undefined if it may at once. */
  next(): Promise<void> | undefined {
    const nowMs = this.#clock.nowMs()
    this.#left = Math.min(BURST, this.#left + ((nowMs - this.#atMs) * PER_SECOND) / 1_000)
    this.#atMs = nowMs
    this.#left -= 1
    if (this.#left >= 0) return undefined
    const delayMs = (-this.#left * 1_000) / PER_SECOND
    return new Promise((resolve) => void this.#clock.after(delayMs, resolve))
  }
}
