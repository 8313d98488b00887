import type { Clock } from '../../lib/clock/clock.ts'

/** Maximum wait for the store if an earlier result is known. */
const STALE_WAIT_MS = 2_000
/** How long a failed store is left alone while earlier results are known. */
const REST_MS = 5_000

/** Reads by key. Requesters share a running read, whose result outlives them; a purge forgets the running ones. */
export class SharedReads<T> {
  readonly #clock: Clock
  readonly #running = new Map<string, Promise<T>>()
  /** Incremented by each purge: a result requested before it must not be kept. */
  #generation = 0
  #failedMs = Number.NEGATIVE_INFINITY

  constructor(clock: Clock) {
    this.#clock = clock
  }

  /** Number of purges so far. */
  get generation(): number {
    return this.#generation
  }

  /** Whether the store has failed so recently that it is left alone. */
  get isResting(): boolean {
    return this.#clock.nowMs() - this.#failedMs < REST_MS
  }

  /** Records that the store has failed. */
  rest(): void {
    this.#failedMs = this.#clock.nowMs()
  }

  /** Returns the result of the running read of a key, or starts one. @param keep called unless there was a purge meanwhile */
  ask(key: string, read: () => Promise<T>, keep: (result: T) => void): Promise<T> {
    const running = this.#running.get(key)
    if (running !== undefined) return running
    const generation = this.#generation
    const reading = read()
      .then(
        (result) => {
          if (generation === this.#generation) keep(result)
          return result
        },
        (error: unknown) => {
          this.rest()
          throw error
        },
      )
      .finally(() => {
        if (this.#running.get(key) === reading) this.#running.delete(key)
      })
    this.#running.set(key, reading)
    return reading
  }

  purge(): void {
    this.#generation++
    this.#running.clear()
    this.#failedMs = Number.NEGATIVE_INFINITY
  }
}

/** Returns what is read, or an earlier result if the store takes too long; the read continues afterwards. */
export async function inTime<T>(reading: Promise<T>, earlier: () => T): Promise<T> {
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<T>((resolve) => (timer = setTimeout(() => resolve(earlier()), STALE_WAIT_MS)))
  try {
    return await Promise.race([reading, late])
  } finally {
    clearTimeout(timer)
  }
}
