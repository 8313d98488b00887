import { ignore } from '../errors/ignore.ts'

/** Runs one task at a time per key; others wait in order. */
export class KeyedLock {
  readonly #tails = new Map<string, Promise<unknown>>()

  async run<T>(key: string, work: () => Promise<T>): Promise<T> {
    const before = this.#tails.get(key) ?? Promise.resolve()
    const turn = before.then(work, work)
    const tail = turn.catch(ignore('the caller of the turn gets it'))
    this.#tails.set(key, tail)
    try {
      return await turn
    } finally {
      if (this.#tails.get(key) === tail) this.#tails.delete(key)
    }
  }
}
