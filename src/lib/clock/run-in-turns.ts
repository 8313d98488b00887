import { setImmediate } from 'node:timers/promises'

/** Longest turn: short enough that health checks stay fast. */
const TURN_MS = 8

/** Yields what a long computation yields, in turns of a few milliseconds between which the event loop serves others. */
export async function* yieldInTurns<T>(work: Iterable<T>): AsyncGenerator<T, void> {
  let startMs = performance.now()
  for (const value of work) {
    yield value
    if (performance.now() - startMs < TURN_MS) continue
    await setImmediate()
    startMs = performance.now()
  }
}

/**
 * Runs a long computation in turns of a few milliseconds, between which the event loop serves others. The
 * computation yields wherever it can pause, and must do so at least every few milliseconds. When `signal`
 * aborts, it ends after its turn.
 *
 * @throws the computation's error, or the signal's reason
 */
export async function runInTurns<T>(
  work: Generator<void, T>,
  { signal, turnMs = TURN_MS }: { readonly signal?: AbortSignal; readonly turnMs?: number | undefined } = {},
): Promise<T> {
  let startMs = performance.now()
  for (;;) {
    signal?.throwIfAborted()
    const { done, value } = work.next()
    if (done === true) return value
    if (performance.now() - startMs < turnMs) continue
    await setImmediate()
    startMs = performance.now()
  }
}
