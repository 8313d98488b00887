/** Lets one piece of work at a time run per key; the others wait in the order they came. */
export class KeyedLock {
  readonly #tails = new Map<string, Promise<unknown>>()

  async run<T>(key: string, work: () => Promise<T>): Promise<T> {
    const before = this.#tails.get(key) ?? Promise.resolve()
    const turn = before.then(work, work)
    const tail = turn.catch(() => undefined)
    this.#tails.set(key, tail)
    try {
      return await turn
    } finally {
      if (this.#tails.get(key) === tail) this.#tails.delete(key)
    }
  }
}
