import { isFault } from '../../lib/errors/fault.ts'
import type { Clock } from '../../lib/clock/clock.ts'
import type { Store } from '../store/store.ts'
import { asOf, UntilNextEnd } from './expiry.ts'
import type { Repo } from './meta.ts'
import { readMeta } from './stored-meta.ts'

/** Prefix of all repositories in the store. */
export const REPOS = 'repos/'
/** Parallel calls to the store. */
const PARALLEL = 32
/** Maximum validity of an incomplete list. */
const PARTIAL_MS = 5_000

/** A list as read from the store. */
interface List {
  readonly stored: ReadonlyMap<string, Repo>
  readonly shown: UntilNextEnd<ReadonlyMap<string, Repo>>
  readonly readMs: number
}

/** Cached list of the store's repositories, with the same expiry as other content, and purged with it. */
export class RepoList {
  readonly #store: Store
  readonly #clock: Clock
  readonly #ttlMs: number
  readonly #hasPages: (root: string) => Promise<boolean>
  #kept: List | undefined
  #reading: Promise<List> | undefined
  #generation = 0

  /** @param hasPages whether a repository has published pages besides those of its versions */
  constructor(store: Store, clock: Clock, ttlMs: number, hasPages: (root: string) => Promise<boolean>) {
    this.#store = store
    this.#clock = clock
    this.#ttlMs = ttlMs
    this.#hasPages = hasPages
  }

  /**
   * Returns all repositories by name, without expired versions and without repositories that have nothing else; the
   * last list if the store fails.
   *
   * @throws STORE_UNAVAILABLE when there is none
   */
  async read(): Promise<ReadonlyMap<string, Repo>> {
    const kept = this.#kept
    if (kept !== undefined && this.#clock.nowMs() - kept.readMs < this.#ttlMs) return this.#shown(kept)
    this.#reading ??= this.#readAnew()
    try {
      return this.#shown(await this.#reading)
    } catch (error) {
      if (kept !== undefined && isFault(error)) return this.#shown(kept)
      throw error
    }
  }

  purge(): void {
    this.#generation++
    this.#kept = undefined
    this.#reading = undefined
  }

  #shown({ shown }: List): ReadonlyMap<string, Repo> {
    return shown.at(this.#clock.wallMs())
  }

  async #readAnew(): Promise<List> {
    const generation = this.#generation
    const old = this.#kept?.stored
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
      const list: List = {
        stored: repos,
        shown: new UntilNextEnd(repos.values(), (nowMs) => listAsOf(repos, nowMs)),
        readMs: this.#clock.nowMs() - early,
      }
      if (generation === this.#generation) this.#kept = list
      return list
    } finally {
      if (generation === this.#generation) this.#reading = undefined
    }
  }

  /** Returns undefined for an unreadable repository, which must not hide the others. */
  async #meta(name: string): Promise<Repo | undefined> {
    try {
      const root = `${REPOS}${name}/`
      const repo = await readMeta(this.#store, name, root)
      const { versions = [], expires } = repo
      if (versions.length === 0 || !versions.every((version) => expires?.has(version))) return repo
      return (await this.#hasPages(root)) ? repo : { ...repo, hasOnlyPreviews: true }
    } catch (error) {
      if (isFault(error)) return undefined
      throw error
    }
  }
}

function listAsOf(repos: ReadonlyMap<string, Repo>, nowMs: number): ReadonlyMap<string, Repo> {
  const left = [...repos].map(([name, repo]) => [name, asOf(repo, nowMs)] as const)
  return new Map(left.filter(([, repo]) => repo.hasOnlyPreviews !== true || repo.versions?.length !== 0))
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
