import type { Clock } from '../../lib/clock/clock.ts'
import { isFault } from '../../lib/errors/fault.ts'
import type { CacheEntry, ObjectCache } from '../cache/object-cache.ts'
import { asOf, isExpired, UntilNextEnd } from './expiry.ts'
import { META_FILE, parseMeta, type Repo } from './meta.ts'
import { REPOS } from './repo-list.ts'

/** Metadata as stored, and without expired versions. */
interface Parsed {
  readonly stored: Repo
  readonly shown: UntilNextEnd<Repo>
}

/**
 * Metadata of single repositories, from the object cache. A page needs the metadata of its repository alone, so it does not
 * wait for the list of all.
 */
export class CachedMetas {
  readonly #cache: ObjectCache
  readonly #ttlMs: number
  readonly #clock: Clock
  /** Parsed metadata of cached objects. */
  readonly #parsed = new WeakMap<CacheEntry, Parsed>()

  constructor(cache: ObjectCache, ttlMs: number, clock: Clock) {
    this.#cache = cache
    this.#ttlMs = ttlMs
    this.#clock = clock
  }

  /** Returns the metadata of a repository, without expired versions, if it is valid in the cache. Counts no hit. */
  fresh(name: string): Repo | undefined {
    return this.#fresh(name)?.shown.at(this.#clock.wallMs())
  }

  /**
   * Returns the metadata of a repository without expired versions; only its name if it has none, or if the store fails
   * and no copy is cached.
   */
  async lookUp(name: string): Promise<Repo> {
    return (await this.#lookUp(name)).shown.at(this.#clock.wallMs())
  }

  /** Whether a version of a repository has expired; undefined if the store must be asked. */
  freshExpiry(name: string, version: string): boolean | undefined {
    const parsed = this.#fresh(name)
    return parsed && isExpired(parsed.stored, version, this.#clock.wallMs())
  }

  /** Whether a version of a repository has expired, asking the store if necessary. */
  async hasExpired(name: string, version: string): Promise<boolean> {
    const { stored } = this.#fresh(name) ?? (await this.#lookUp(name))
    return isExpired(stored, version, this.#clock.wallMs())
  }

  #fresh(name: string): Parsed | undefined {
    const entry = this.#cache.peek(keyOf(name), this.#ttlMs)
    return entry && this.#parse(name, entry)
  }

  async #lookUp(name: string): Promise<Parsed> {
    try {
      const { known } = await this.#cache.lookUp(keyOf(name), this.#ttlMs)
      return this.#parse(name, known)
    } catch (error) {
      // The page itself may be cached; if it is not, its own lookup fails.
      if (isFault(error)) return parsedFrom({ name })
      throw error
    }
  }

  #parse(name: string, entry: CacheEntry): Parsed {
    let parsed = this.#parsed.get(entry)
    if (parsed === undefined) {
      parsed = parsedFrom(entry.is === 'cached' ? parseMeta(name, entry.bytes) : { name })
      this.#parsed.set(entry, parsed)
    }
    return parsed
  }
}

function parsedFrom(stored: Repo): Parsed {
  return { stored, shown: new UntilNextEnd([stored], (nowMs) => asOf(stored, nowMs)) }
}

function keyOf(name: string): string {
  return `${REPOS}${name}/${META_FILE}`
}
