import type { Clock } from '../../../lib/clock/clock.ts'

const MOST = 5
const WITHIN_MS = 600_000

/** Keeps machines that reboot again and again, such as by a fault in their own boot, from doing so for ever. */
export class RebootLimit {
  readonly #clock: Clock
  readonly #reboots = new Map<string, readonly number[]>()

  constructor(clock: Clock) {
    this.#clock = clock
  }

  /** Counts a reboot; false for more than 5 within 10 minutes, after which counting begins again. */
  admits(key: string): boolean {
    const nowMs = this.#clock.nowMs()
    const recent = (this.#reboots.get(key) ?? []).filter((atMs) => nowMs - atMs < WITHIN_MS)
    const isAdmitted = recent.length < MOST
    if (isAdmitted) this.#reboots.set(key, [...recent, nowMs])
    else this.#reboots.delete(key)
    return isAdmitted
  }
}
