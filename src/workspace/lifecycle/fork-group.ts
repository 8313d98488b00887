import { ignore } from '../../lib/errors/ignore.ts'
import type { ForkOrigin } from '../backend/fork.ts'
import type { Workspace } from '../workspace.ts'

/** The forks that one request creates: all of them, or none. */
export class ForkGroup {
  readonly source: Workspace
  readonly count: number
  readonly #origin = Promise.withResolvers<ForkOrigin>()
  readonly #complete = Promise.withResolvers<void>()
  readonly #failed = new AbortController()
  #missing: number

  constructor(source: Workspace, count: number) {
    this.source = source
    this.count = count
    this.#missing = count
    // Either may have no reader when it rejects.
    for (const each of [this.#origin, this.#complete]) each.promise.catch(ignore('each reader gets it'))
  }

  /** Resolves to the copy of the source's files. */
  get origin(): Promise<ForkOrigin> {
    return this.#origin.promise
  }

  /** Aborts when one of them fails, with its error. */
  get signal(): AbortSignal {
    return this.#failed.signal
  }

  /** Passes the copy to the creations, which wait for it. */
  begin(origin: ForkOrigin): void {
    this.#origin.resolve(origin)
  }

  /** Reports that one is created. Resolves when all are, and rejects when one fails: each then rolls back. */
  arrive(): Promise<void> {
    this.#missing -= 1
    if (this.#missing === 0) this.#complete.resolve()
    return this.#complete.promise
  }

  /** Fails all of them that are not complete. */
  fail(error: unknown): void {
    this.#failed.abort(error)
    this.#origin.reject(error)
    this.#complete.reject(error)
  }
}
