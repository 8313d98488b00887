import { Admission } from '../../lib/clock/admission.ts'
import { runInTurns } from '../../lib/clock/run-in-turns.ts'
import { fault } from '../errors.ts'

/** Searches that run at once: they share one thread, and each needs memory. */
const MAX_RUNNING = 2
const MAX_WAITING = 16
const RETRY_AFTER_S = 2

/** Runs a search that yields wherever it can pause. */
export type RunSearch = <T>(search: Generator<void, T>) => Promise<T>

/** Runs long searches in turns with other requests, a few at once; the others wait in order of arrival. */
export class SearchQueue {
  readonly #admission = new Admission(MAX_RUNNING)
  readonly #turnMs: number | undefined

  /** @param turnMs length of a turn; default: that of `runInTurns` */
  constructor(turnMs?: number) {
    this.#turnMs = turnMs
  }

  /**
   * Runs a search until it ends or `signal` aborts.
   *
   * @throws SEARCH_BUSY when too many are waiting, the search's error, or the signal's reason
   */
  run<T>(search: Generator<void, T>, signal: AbortSignal): Promise<T> {
    return this.#admission.run(
      signal,
      () => this.#checkWaiting(),
      () => runInTurns(search, { signal, turnMs: this.#turnMs }),
    )
  }

  #checkWaiting(): void {
    if (this.#admission.waitingCount < MAX_WAITING) return
    throw fault('SEARCH_BUSY', 'too many searches are waiting; retry in a moment', undefined, RETRY_AFTER_S)
  }
}
