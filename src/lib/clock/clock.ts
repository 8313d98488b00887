/** Time, as a program sees it; tests bring their own. */
export interface Clock {
  /** Milliseconds since the epoch. */
  readonly wallMs: () => number
  /** Milliseconds of a clock that nobody sets. */
  readonly nowMs: () => number
}

/** A clock that wakes, too. */
export interface AlarmClock extends Clock {
  /** Calls back after a while, never at once. Returns how to prevent it. */
  readonly after: (delayMs: number, work: () => void) => () => void
}

/** setTimeout takes no longer delay; whoever waits longer is woken to wait again. */
export const LONGEST_DELAY_MS = 2 ** 31 - 1

export const systemClock: AlarmClock = {
  wallMs: Date.now,
  nowMs: () => performance.now(),
  after(delayMs, work) {
    const timer = setTimeout(work, Math.min(delayMs, LONGEST_DELAY_MS))
    return () => clearTimeout(timer)
  },
}
