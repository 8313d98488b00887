const FIRST_DELAY_MS = 1_000
const LONGEST_DELAY_MS = 60_000
/** A run of this length was no failure to start. */
const STABLE_MS = 10_000
const MOST_CRASHES = 5

/**
 * When to start again after a crash: after 1 s, doubled with every further one up to 60 s. Ten seconds up begin that anew; five
 * runs that did not last ten seconds together end it.
 */
export class CrashRecord {
  #delayMs = FIRST_DELAY_MS
  #runsMs: number[] = []

  /** Returns how long to wait, or `give up`. */
  crashed(uptimeMs: number): number | 'give up' {
    if (uptimeMs >= STABLE_MS) this.reset()
    this.#runsMs = [...this.#runsMs, uptimeMs].slice(-MOST_CRASHES)
    const ranMs = this.#runsMs.reduce((sum, each) => sum + each, 0)
    if (this.#runsMs.length === MOST_CRASHES && ranMs < STABLE_MS) return 'give up'
    const delayMs = this.#delayMs
    this.#delayMs = Math.min(2 * delayMs, LONGEST_DELAY_MS)
    return delayMs
  }

  /** Somebody has started it by hand. */
  reset(): void {
    this.#delayMs = FIRST_DELAY_MS
    this.#runsMs = []
  }
}
