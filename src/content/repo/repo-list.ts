import { isFault } from '../../lib/errors/fault.ts'
import type { Clock } from '../../lib/clock/clock.ts'
import type { Store } from '../store/store.ts'
import type { Repo } from './meta.ts'
import { readMeta } from './stored-meta.ts'

/** Prefix of all repositories in the store. */
export const REPOS = 'repos/'
/** Parallel calls to the store. */
const PARALLEL = 32
/** Maximum validity of an incomplete list. */
const PARTIAL_MS = 5_000

/** Cached list of the store's repositories, with the same expiry as other content, and purged with it. */
export class RepoList {
  readonly #store: Store
  readonly #clock: Clock
  readonly #ttlMs: number
  #kept: { readonly repos: ReadonlyMap<string, Repo>; readonly readMs: number } | undefined
  #reading: Promise<ReadonlyMap<string, Repo>> | undefined
  #generation = 0

  constructor(store: Store, clock: Clock, ttlMs: number) {
    this.#store = store
    this.#clock = clock
    this.#ttlMs = ttlMs
  }

  /**
   * Returns all repositories by name; the last list if the store fails.
   *
   * @throws STORE_UNAVAILABLE when there is none
   */
  async read(): Promise<ReadonlyMap<string, Repo>> {
    const kept = this.#kept
    if (kept !== undefined && this.#clock.nowMs() - kept.readMs < this.#ttlMs) return kept.repos
    this.#reading ??= this.#readAnew()
    try {
      return await this.#reading
    } catch (error) {
      if (kept !== undefined && isFault(error)) return kept.repos
      throw error
    }
  }

  purge(): void {
    this.#generation++
    this.#kept = undefined
    this.#reading = undefined
  }

  async #readAnew(): Promise<ReadonlyMap<string, Repo>> {
    const generation = this.#generation
    const old = this.#kept?.repos
    try {
      let isWhole = true
      const names = (await this.#store.listNames(REPOS)).toSorted()
      const repos = new Map<string, Repo>(names.map((name) => [name, { name }]))
      await mapConcurrently(PARALLEL, names, async (name) => {
        const meta = await this.#meta(name)
        isWhole &&= meta !== undefined
        repos.set(name, meta ?? old?.get(name) ?? { name })
      })
      const early = isWhole ? 0 : Math.max(0, this.#ttlMs - PARTIAL_MS)
      if (generation === this.#generation) this.#kept = { repos, readMs: this.#clock.nowMs() - early }
      return repos
    } finally {
      if (generation === this.#generation) this.#reading = undefined
    }
  }

  /** Returns undefined for an unreadable repository, which must not hide the others. */
  async #meta(name: string): Promise<Repo | undefined> {
    try {
      return await readMeta(this.#store, name, `${REPOS}${name}/`)
    } catch (error) {
      if (isFault(error)) return undefined
      throw error
    }
  }
}

/** Maps items with limited concurrency. */
export async function mapConcurrently<T>(
  count: number,
  items: Iterable<T>,
  work: (item: T) => Promise<void>,
): Promise<void> {
  const rest = items[Symbol.iterator]()
  const run = async (): Promise<void> => {
    for (let next = rest.next(); !next.done; next = rest.next()) await work(next.value)
  }
  await Promise.all(Array.from({ length: count }, run))
}
