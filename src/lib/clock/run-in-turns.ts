import { setImmediate } from 'node:timers/promises'

/** Longest turn: short enough that health checks stay fast. */
const TURN_MS = 8

/**
 * Runs a long computation in turns of a few milliseconds, between which the event loop serves others. The
 * computation yields wherever it can pause, and must do so at least every few milliseconds.
 *
 * @throws the computation's error
 */
export async function runInTurns<T>(work: Generator<void, T>, turnMs = TURN_MS): Promise<T> {
  let startMs = performance.now()
  for (;;) {
    const { done, value } = work.next()
    if (done === true) return value
    if (performance.now() - startMs < turnMs) continue
    await setImmediate()
    startMs = performance.now()
  }
}
