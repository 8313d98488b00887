import { unlessAborted } from '../../../lib/process/unless-aborted.ts'

/** Lets so many pieces of work run at once; the others wait in the order they came. */
export class Admission {
  #free: number
  readonly #waiting: (() => void)[] = []

  constructor(most: number) {
    this.#free = most
  }

  /** Runs work when its turn has come; `onWait` is called if that is not at once. Rejects when `signal` is aborted first. */
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
      // Its turn had come at the same moment.
      else this.#leave()
      throw error
    }
  }

  /** The next one takes over the place. */
  #leave(): void {
    const next = this.#waiting.shift()
    if (next === undefined) this.#free++
    else next()
  }
}
