import { counted } from '../../lib/cli/counted.ts'
import type { ProcessSpec } from '../process-spec.ts'

const FIRST_DELAY_MS = 1_000
const LONGEST_DELAY_MS = 60_000
/** Uptime after which a run counts as stable. */
const STABLE_MS = 10_000
const MOST_CRASHES = 5

/**
 * Decides restarts: after the configured delay, or else after 1 s, doubled with every further restart up to 60 s. Ten
 * seconds of uptime reset the delay; after five runs shorter than ten seconds in total it gives up.
 */
export class CrashRecord {
  #delayMs = FIRST_DELAY_MS
  #runsMs: number[] = []
  #restarts = 0

  /** Returns the delay before the next start, or why there is none. */
  next(
    uptimeMs: number,
    { restartDelayMs, maxRestarts = Infinity }: ProcessSpec,
  ): { readonly delayMs: number } | { readonly givenUp: string } {
    if (this.#restarts >= maxRestarts) return { givenUp: counted(maxRestarts, 'restart') }
    this.#restarts++
    if (restartDelayMs !== undefined) return { delayMs: restartDelayMs }
    if (uptimeMs >= STABLE_MS) this.#forget()
    this.#runsMs = [...this.#runsMs, uptimeMs].slice(-MOST_CRASHES)
    const ranMs = this.#runsMs.reduce((sum, each) => sum + each, 0)
    if (this.#runsMs.length === MOST_CRASHES && ranMs < STABLE_MS) return { givenUp: 'five short runs' }
    const delayMs = this.#delayMs
    this.#delayMs = Math.min(2 * delayMs, LONGEST_DELAY_MS)
    return { delayMs }
  }

  /** Resets the policy after a manual start. */
  reset(): void {
    this.#restarts = 0
    this.#forget()
  }

  #forget(): void {
    this.#delayMs = FIRST_DELAY_MS
    this.#runsMs = []
  }
}
