import type { Clock } from '../../../lib/clock/clock.ts'
import type { MachineExit } from './machine-runner.ts'

const MOST = 5
const WITHIN_MS = 600_000

/** Exit of a VM whose reboots the limit stops. */
export const TOO_MANY_REBOOTS: MachineExit = {
  is: 'failed',
  why: 'it rebooted more than 5 times within 10 minutes; start it again',
}

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
