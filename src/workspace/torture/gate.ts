/** Lets work pass while it is open. Closing waits for work that has passed. */
export class Gate {
  /** Resolves when the gate opens; undefined while it is open. */
  #closed: Promise<void> | undefined
  readonly #work = new Set<Promise<unknown>>()

  /** Runs work when the gate is open. */
  async pass<T>(start: () => Promise<T>): Promise<T> {
    while (this.#closed !== undefined) await this.#closed
    const work = start()
    this.#work.add(work)
    try {
      return await work
    } finally {
      this.#work.delete(work)
    }
  }

  /** Runs work while nothing else passes. */
  async closed<T>(work: () => Promise<T>): Promise<T> {
    const { promise, resolve } = Promise.withResolvers<void>()
    this.#closed = promise
    try {
      await Promise.allSettled(this.#work)
      return await work()
    } finally {
      this.#closed = undefined
      resolve()
    }
  }
}
