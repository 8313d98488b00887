/** Time, as the content server sees it; tests bring their own. */
export interface Clock {
  /** Milliseconds since the epoch. */
  readonly wallMs: () => number
  /** Milliseconds of a clock that nobody sets. */
  readonly nowMs: () => number
}

export const systemClock: Clock = { wallMs: Date.now, nowMs: () => performance.now() }
