import { isFault } from '../../lib/errors/fault.ts'
import type { CacheEntry, ObjectCache } from '../cache/object-cache.ts'
import { META_FILE, parseMeta, type Repo } from './meta.ts'
import { REPOS } from './repo-list.ts'

/**
 * Metadata of single repositories, from the object cache. A page needs the metadata of its repository alone, so it does not
 * wait for the list of all.
 */
export class CachedMetas {
  readonly #cache: ObjectCache
  readonly #ttlMs: number
  /** Parsed metadata of cached objects. */
  readonly #parsed = new WeakMap<CacheEntry, Repo>()

  constructor(cache: ObjectCache, ttlMs: number) {
    this.#cache = cache
    this.#ttlMs = ttlMs
  }

  /** Returns the metadata of a repository if it is valid in the cache, without counting a hit. */
  fresh(name: string): Repo | undefined {
    const entry = this.#cache.peek(keyOf(name), this.#ttlMs)
    return entry && this.#parse(name, entry)
  }

  /** Returns the metadata of a repository; only its name if it has none, or if the store fails and no copy is cached. */
  async lookUp(name: string): Promise<Repo> {
    try {
      const { known } = await this.#cache.lookUp(keyOf(name), this.#ttlMs)
      return this.#parse(name, known)
    } catch (error) {
      // The page itself may be cached; if it is not, its own lookup fails.
      if (isFault(error)) return { name }
      throw error
    }
  }

  #parse(name: string, entry: CacheEntry): Repo {
    let meta = this.#parsed.get(entry)
    if (meta === undefined) {
      meta = entry.is === 'cached' ? parseMeta(name, entry.bytes) : { name }
      this.#parsed.set(entry, meta)
    }
    return meta
  }
}

function keyOf(name: string): string {
  return `${REPOS}${name}/${META_FILE}`
}
