const FIRST_DELAY_MS = 100
const MAX_DELAY_MS = 10_000

/**
 * Delay before the next process: none after one crash, then 100 ms, doubled with every crash in a
 * row, up to 10 s. Times are monotonic, in milliseconds.
 */
export class RestartDelay {
  #crashes = 0
  #lastCrashMs = 0

  crashed(nowMs: number): void {
    this.#crashes++
    this.#lastCrashMs = nowMs
  }

  /** Records a completed task, which resets the delay. */
  succeeded(): void {
    this.#crashes = 0
  }

  leftMs(nowMs: number): number {
    if (this.#crashes < 2) return 0
    const delayMs = Math.min(FIRST_DELAY_MS * 2 ** (this.#crashes - 2), MAX_DELAY_MS)
    return Math.max(0, this.#lastCrashMs + delayMs - nowMs)
  }
}
