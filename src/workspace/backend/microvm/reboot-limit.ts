import type { Clock } from '../../../lib/clock/clock.ts'

const MOST = 5
const WITHIN_MS = 600_000

/** Stops reboot loops, such as those caused by a boot failure inside the VM. */
export class RebootLimit {
  readonly #clock: Clock
  readonly #reboots = new Map<string, readonly number[]>()

  constructor(clock: Clock) {
    this.#clock = clock
  }

  /** Counts a reboot. Returns false after more than 5 within 10 minutes, and then starts counting again. */
  admits(key: string): boolean {
    const nowMs = this.#clock.nowMs()
    const recent = (this.#reboots.get(key) ?? []).filter((atMs) => nowMs - atMs < WITHIN_MS)
    const isAdmitted = recent.length < MOST
    if (isAdmitted) this.#reboots.set(key, [...recent, nowMs])
    else this.#reboots.delete(key)
    return isAdmitted
  }
}
