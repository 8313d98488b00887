import { unlessAborted } from '../process/unless-aborted.ts'

/** Limits how many pieces of work run concurrently; the others wait in order of arrival. */
export class Admission {
  #free: number
  readonly #waiting: (() => void)[] = []

  constructor(most: number) {
    this.#free = most
  }

  /** Number of pieces of work that wait. */
  get waitingCount(): number {
    return this.#waiting.length
  }

  /**
   * Runs work when its turn comes; calls `onWait` if it has to wait, and does not wait if that throws. Rejects
   * when `signal` is aborted first.
   */
  async run<T>(signal: AbortSignal, onWait: () => void, work: () => Promise<T>): Promise<T> {
    if (this.#free > 0) this.#free--
    else {
      onWait()
      await this.#wait(signal)
    }
    try {
      return await work()
    } finally {
      this.#leave()
    }
  }

  async #wait(signal: AbortSignal): Promise<void> {
    const turn = Promise.withResolvers<void>()
    this.#waiting.push(turn.resolve)
    try {
      await unlessAborted(turn.promise, signal)
    } catch (error) {
      const at = this.#waiting.indexOf(turn.resolve)
      if (at >= 0) this.#waiting.splice(at, 1)
      // Its turn came at the same moment.
      else this.#leave()
      throw error
    }
  }

  /** Frees a slot, or hands it to the next one in line. */
  #leave(): void {
    const next = this.#waiting.shift()
    if (next === undefined) this.#free++
    else next()
  }
}
