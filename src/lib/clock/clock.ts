/** Injectable source of time. */
export interface Clock {
  /** Milliseconds since the epoch. */
  readonly wallMs: () => number
  /** Milliseconds of a monotonic clock. */
  readonly nowMs: () => number
}

/** A clock with timers. */
export interface AlarmClock extends Clock {
  /** Calls `work` after a delay, never synchronously. Returns a function that cancels it. */
  readonly after: (delayMs: number, work: () => void) => () => void
}

/** Maximum delay of setTimeout; longer waits are split. */
export const LONGEST_DELAY_MS = 2 ** 31 - 1

/** The clock and timers of this process. */
export const systemClock: AlarmClock = {
  wallMs: Date.now,
  nowMs: () => performance.now(),
  after(delayMs, work) {
    const timer = setTimeout(work, Math.min(delayMs, LONGEST_DELAY_MS))
    return () => clearTimeout(timer)
  },
}
