const HOUR_MS = 3_600_000

/** How long an expiry that passed before the server started is announced first. */
export const LATE_GRACE_MS = HOUR_MS
/** How long, at most, an expiry that passed because the clock was set is announced first. */
export const JUMP_GRACE_MS = 24 * HOUR_MS
/** Times before an expiry at which it is announced, longest first. */
const ANNOUNCED_MS = [24 * HOUR_MS, HOUR_MS] as const

/**
 * State of an expiry. `late`: it passed before the server started; `jumped`: the clock was set past it; either
 * takes effect when `leftMs` has passed.
 */
export type ExpiryState =
  { readonly is: 'ahead' | 'late' | 'jumped'; readonly leftMs: number } | { readonly is: 'due' }

/**
 * Decides when an expiry takes effect, although the system clock may be wrong: the time on the clock must have
 * been reached, and either as much monotonic time must have passed or the expiry has been announced for a
 * grace period. Setting the clock back always postpones it.
 */
export class ExpiryWatch {
  readonly #atMs: number
  /** Monotonic time at which it is due if nobody sets the clock. */
  #dueMs = 0
  #isLate = false
  /** Monotonic time since which the clock has been past it. */
  #pastSinceMs: number | undefined
  readonly #told = new Set<string>()

  /**
   * Begins to watch.
   *
   * @param atMs the expiry, by the system clock
   * @param wallMs the system clock
   * @param nowMs the monotonic clock
   */
  constructor(atMs: number, wallMs: number, nowMs: number) {
    this.#atMs = atMs
    this.#begin(wallMs, nowMs)
  }

  /** Returns the state at a time. */
  check(wallMs: number, nowMs: number): ExpiryState {
    const leftMs = this.#atMs - wallMs
    if (leftMs > 0) {
      // The clock was wrong when the server started.
      if (this.#isLate) this.#begin(wallMs, nowMs)
      this.#pastSinceMs = undefined
      return { is: 'ahead', leftMs }
    }
    this.#pastSinceMs ??= nowMs
    const effectMs = this.#isLate
      ? this.#pastSinceMs + LATE_GRACE_MS
      : Math.min(this.#dueMs, this.#pastSinceMs + JUMP_GRACE_MS)
    if (nowMs >= effectMs) return { is: 'due' }
    return { is: this.#isLate ? 'late' : 'jumped', leftMs: effectMs - nowMs }
  }

  /** Returns whether this subject is new, and remembers it. */
  isNew(subject: string): boolean {
    const isNew = !this.#told.has(subject)
    this.#told.add(subject)
    return isNew
  }

  /** Returns the announcement that applies when so much time is left, such as `3600000`; undefined for none. */
  static announcementOf(leftMs: number): string | undefined {
    return ANNOUNCED_MS.findLast((ms) => leftMs <= ms)?.toString()
  }

  #begin(wallMs: number, nowMs: number): void {
    this.#isLate = wallMs >= this.#atMs
    this.#dueMs = nowMs + this.#atMs - wallMs
  }
}
