import { LRUCache } from 'lru-cache'
import { isFault } from '../../lib/errors/fault.ts'
import { readAll } from '../cache/object-cache.ts'
import type { Clock } from '../../lib/clock/clock.ts'
import { formatPath } from '../page/request-path.ts'
import { inParallel, type RepoList } from '../repo/repo-list.ts'
import type { Store } from '../store/store.ts'
import { INDEX_FILE, parseIndex, type SearchIndex } from './search-index.ts'

/** A page that was found. */
interface Hit {
  readonly repo: string
  /** On this site. */
  readonly url: string
  readonly title: string
  readonly excerpt: string
}

export interface Found {
  readonly hits: readonly Hit[]
  /** False where an index could not be read, or did not fit into memory. */
  readonly isComplete: boolean
}

const PARALLEL = 8
const MAX_QUERY = 200
/** What an index takes in memory, in bytes of its file. */
const MEMORY_FACTOR = 3

interface Held {
  readonly index: SearchIndex | undefined
  readonly etag: string
  readonly bytes: number
  readonly readMs: number
}

/** Searches the newest version of every repository. Indexes are read when they are first needed. */
export class SiteSearch {
  readonly #store: Store
  readonly #repos: RepoList
  readonly #clock: Clock
  readonly #ttlMs: number
  readonly #maxBytes: number
  readonly #held: LRUCache<string, Held>
  readonly #reading = new Map<string, Promise<Held | undefined>>()

  constructor(store: Store, repos: RepoList, clock: Clock, limits: { ttlMs: number; maxBytes: number }) {
    this.#store = store
    this.#repos = repos
    this.#clock = clock
    this.#ttlMs = limits.ttlMs
    this.#maxBytes = Math.max(1, limits.maxBytes)
    this.#held = new LRUCache({
      maxSize: this.#maxBytes,
      sizeCalculation: ({ bytes }) => bytes * MEMORY_FACTOR + 512,
    })
  }

  /** The pages that fit a query best. @param only searches one repository */
  async find(query: string, limit: number, only?: string): Promise<Found> {
    const words = query.slice(0, MAX_QUERY).trim()
    if (words === '') return { hits: [], isComplete: true }
    const found: { readonly hit: Hit; readonly score: number }[] = []
    let isComplete = true
    const repos = [...(await this.#repos.read()).values()].filter(
      ({ name }) => only === undefined || name === only,
    )
    await inParallel(PARALLEL, repos, async ({ name, latest }) => {
      const folder = latest === undefined ? ['repos', name] : ['repos', name, latest]
      const held = await this.#read(`${folder.join('/')}/${INDEX_FILE}`)
      isComplete &&= held !== undefined
      for (const { score, ...page } of held?.index?.search(words).slice(0, limit) ?? []) {
        const path = String(page['path'])
        const url = formatPath([...folder, ...path.split('/')], false).replace(/\/index\.html$/, '/')
        found.push({
          score,
          hit: { repo: name, url, title: String(page['title']), excerpt: String(page['excerpt']) },
        })
      }
    })
    const best = found.toSorted((a, b) => b.score - a.score).slice(0, limit)
    return { hits: best.map(({ hit }) => hit), isComplete }
  }

  purge(): void {
    this.#held.clear()
  }

  #read(key: string): Promise<Held | undefined> {
    const held = this.#held.get(key)
    if (held !== undefined && this.#clock.nowMs() - held.readMs < this.#ttlMs) return Promise.resolve(held)
    const running = this.#reading.get(key)
    if (running !== undefined) return running
    const reading = this.#readAnew(key, held).finally(() => this.#reading.delete(key))
    this.#reading.set(key, reading)
    return reading
  }

  async #readAnew(key: string, old: Held | undefined): Promise<Held | undefined> {
    try {
      const opened = await this.#store.open(key, { ifNoneMatch: old?.etag })
      const readMs = this.#clock.nowMs()
      let held: Held
      if (opened === 'unchanged' && old !== undefined) held = { ...old, readMs }
      else if (typeof opened === 'string') held = { index: undefined, etag: '', bytes: 0, readMs }
      else if (opened.size * MEMORY_FACTOR > this.#maxBytes / 2) {
        opened.body.on('error', () => undefined).destroy()
        return undefined
      } else
        held = { index: parseIndex(await readAll(opened)), etag: opened.etag, bytes: opened.size, readMs }
      this.#held.set(key, held)
      return held
    } catch (error) {
      if (isFault(error)) return old
      throw error
    }
  }
}
