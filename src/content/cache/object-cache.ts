import { promisify } from 'node:util'
import { gzip } from 'node:zlib'
import { LRUCache } from 'lru-cache'
import { isFault } from '../../lib/errors/fault.ts'
import type { Clock } from '../../lib/clock/clock.ts'
import { brotli } from '../../lib/compress/brotli.ts'
import { decodeHead } from '../store/decode-head.ts'
import { readAll, readHead } from '../store/read-object.ts'
import { inTime, SharedReads } from '../store/shared-reads.ts'
import type { ObjectInfo, ReadableStore } from '../store/store.ts'

const compressGzip = promisify(gzip)
/** Takes about as long as gzip's best level, and a tenth as long as brotli's. */
const BROTLI_QUALITY = 5
/** Bytes kept of an object that is not cached: they decide about its character set. */
const HEAD_BYTES = 4_096
/** Bytes kept of an object in a coding after it is decoded. */
export const DECODED_BYTES = 16_384
/** Overhead of an entry besides its bytes and its key. */
const ENTRY_BYTES = 512

/** With its head, a larger string no longer fits the buffer from which Node sends without another copy. */
const MAX_TEXT_BYTES = 15 * 1024

/** Content codings, as in Accept-Encoding. */
export type Coding = 'br' | 'gzip'
/** Key suffixes of the compressed forms that are stored beside an object. */
const SUFFIX: Readonly<Record<Coding, string>> = { br: '.br', gzip: '.gz' }

/** A cached object with the compressed forms requested so far. */
export interface CachedObject {
  readonly is: 'cached'
  readonly info: ObjectInfo
  readonly bytes: Buffer
  /** First bytes of an object that was compressed before it was stored; undefined if they cannot be decoded. */
  readonly decoded?: Buffer | undefined
  readonly published?: PublishedAs
  /** Whether the bytes were made from a stored object: no compressed form is stored beside it. */
  readonly isDerived?: boolean
  /** Whether it is the Markdown of an HTML page. */
  readonly isMarkdown?: boolean
}

/** How an object stored by its content is published. */
interface PublishedAs {
  readonly path: string
  /** Time at which the path got this content, in milliseconds since the epoch. */
  readonly modifiedMs: number
}

/** A cache entry. A `large` object is not cached, but read from the store each time. */
export type CacheEntry =
  | CachedObject
  | {
      readonly is: 'large'
      readonly info: ObjectInfo
      /** The first bytes. */
      readonly head: Buffer
      readonly decoded?: Buffer | undefined
      readonly published?: PublishedAs
    }
  | { readonly is: 'missing' }

/** An object that can be sent. */
export type Sendable = Exclude<CacheEntry, { readonly is: 'missing' }>

/** An object in a coding. */
export interface EncodedForm {
  readonly coding: Coding
  /** Source of the bytes when they are not in memory: the object, or a compressed form stored beside it. */
  readonly source: Sendable
  readonly bytes: Buffer | undefined
}

interface Entry {
  readonly known: CacheEntry
  /** Monotonic time of the store's answer. */
  checkedMs: number
}

/** Result of a lookup; `staleMs` is the age of a copy that could not be revalidated. */
export interface LookupResult {
  readonly known: CacheEntry
  readonly staleMs: number | undefined
}

/** Limits of a cache. */
export interface CacheLimits {
  readonly ttlMs: number
  readonly negativeTtlMs: number
  readonly maxBytes: number
  readonly maxObjectBytes: number
}

/**
 * Cache of the store's objects, by key alone (threat O3), with least-recently-used eviction. Requests for one
 * key share one request to the store, whose result outlives its requester. Expired entries are revalidated by
 * ETag, and served while the store fails (fault F22).
 */
export class ObjectCache {
  readonly #store: ReadableStore
  readonly #limits: CacheLimits
  readonly #clock: Clock
  readonly #entries: LRUCache<string, Entry>
  readonly #compressed: LRUCache<string, Buffer>
  readonly #texts: LRUCache<Buffer, string>
  readonly #reads: SharedReads<CacheEntry>
  readonly #compressing = new Map<string, Promise<Buffer>>()
  readonly #counts = { hits: 0, misses: 0, stale: 0 }

  constructor(store: ReadableStore, limits: CacheLimits, clock: Clock) {
    this.#store = store
    this.#limits = limits
    this.#clock = clock
    this.#reads = new SharedReads(clock)
    // Compressed forms are smaller than the text they come from, and they are all that most readers request.
    const compressedBytes = Math.floor(limits.maxBytes / 4)
    const textBytes = Math.floor(limits.maxBytes / 16)
    this.#entries = new LRUCache({
      maxSize: Math.max(1, limits.maxBytes - compressedBytes - textBytes),
      sizeCalculation: ({ known }, key) => bytesOf(known) + 2 * key.length + ENTRY_BYTES,
    })
    this.#compressed = new LRUCache({
      maxSize: Math.max(1, compressedBytes),
      sizeCalculation: (bytes, key) => bytes.length + 2 * key.length + ENTRY_BYTES,
    })
    this.#texts = new LRUCache({
      maxSize: Math.max(1, textBytes),
      // A buffer that the other caches have evicted remains in memory as a key.
      sizeCalculation: (text) => 2 * text.length + ENTRY_BYTES,
    })
  }

  /** Size of the cached objects, at most the limit. */
  get cachedBytes(): number {
    return this.#entries.calculatedSize + this.#compressed.calculatedSize + this.#texts.calculatedSize
  }

  /** Counts of lookup results since the start. */
  get counts(): Readonly<Record<'hits' | 'misses' | 'stale', number>> {
    return this.#counts
  }

  get count(): number {
    return this.#entries.size
  }

  /**
   * Returns a valid entry without asking the store.
   *
   * @param missingTtlMs how long a missing object stays valid
   */
  fresh(key: string, missingTtlMs = this.#limits.negativeTtlMs): CacheEntry | undefined {
    const known = this.peek(key, missingTtlMs)
    if (known !== undefined) this.#counts.hits++
    return known
  }

  /** Like `fresh`, but not counted as a lookup. */
  peek(key: string, missingTtlMs = this.#limits.negativeTtlMs): CacheEntry | undefined {
    const entry = this.#entries.get(key)
    return entry !== undefined && this.#isFresh(entry, missingTtlMs) ? entry.known : undefined
  }

  /** Returns the cached entry for a key, or fetches it from the store. @throws STORE_UNAVAILABLE when the store fails and no copy is cached */
  async lookUp(key: string, missingTtlMs?: number): Promise<LookupResult> {
    const fresh = this.fresh(key, missingTtlMs)
    if (fresh !== undefined) return { known: fresh, staleMs: undefined }
    this.#counts.misses++
    const entry = this.#entries.get(key)
    if (entry === undefined) return { known: await this.#ask(key, undefined), staleMs: undefined }
    const stale = (): LookupResult => {
      this.#counts.stale++
      return { known: entry.known, staleMs: this.#clock.nowMs() - entry.checkedMs }
    }
    if (this.#reads.isResting) return stale()
    const asking = this.#ask(key, entry.known).then(
      (known): LookupResult => ({ known, staleMs: undefined }),
      (error: unknown) => {
        if (isFault(error) && error.code === 'STORE_UNAVAILABLE') return stale()
        throw error
      },
    )
    return inTime(asking, stale)
  }

  /** Runs a lookup that its caller repeats if it returns undefined; the counts then remain unchanged. */
  uncountedUnlessFound<T>(lookUp: () => T | undefined): T | undefined {
    const { hits } = this.#counts
    const found = lookUp()
    if (found === undefined) this.#counts.hits = hits
    return found
  }

  /** Returns an object in a coding if that needs neither the store nor a compressor. */
  freshForm(object: Sendable, coding: Coding): EncodedForm | undefined {
    const sibling = this.#freshSibling(object, coding)
    if (sibling !== undefined && sibling !== 'none') return formFrom(coding, sibling)
    const made =
      sibling === 'none' && object.is === 'cached' ? this.#freshCompressed(object, coding) : undefined
    return made && { coding, source: object, bytes: made }
  }

  /**
   * Returns an object in the first of the codings that is available: stored beside it, or compressed here once.
   * Returns undefined if there is none.
   */
  async findForm(object: Sendable, codings: readonly Coding[]): Promise<EncodedForm | undefined> {
    for (const coding of codings) {
      const sibling = await this.#sibling(object, coding)
      if (sibling !== 'none') return formFrom(coding, sibling)
      if (object.is === 'cached')
        return { coding, source: object, bytes: await this.#compress(object, coding) }
    }
    return undefined
  }

  /**
   * Returns a compressed form stored beside an object. Its absence is cached, and a failed lookup is not an error.
   */
  async #sibling(object: Sendable, coding: Coding): Promise<Sendable | 'none'> {
    const { info } = object
    const known = this.#freshSibling(object, coding) ?? (await this.#lookUpQuietly(info.key + SUFFIX[coding]))
    return known !== 'none' && isSibling(known, info) ? known : 'none'
  }

  /** Like `#sibling`, but never asks the store: undefined if that would be necessary. */
  #freshSibling(object: Sendable, coding: Coding): Sendable | 'none' | undefined {
    const { info } = object
    if (object.is === 'cached' && object.isDerived === true) return 'none'
    const known = this.fresh(info.key + SUFFIX[coding], this.#limits.ttlMs)
    return known === undefined || isSibling(known, info) ? known : 'none'
  }

  async #lookUpQuietly(key: string): Promise<CacheEntry> {
    try {
      return (await this.lookUp(key, this.#limits.ttlMs)).known
    } catch (error) {
      if (isFault(error)) return { is: 'missing' }
      throw error
    }
  }

  /** Returns a cached object's bytes in a coding, compressing them once. */
  async #compress(object: CachedObject, coding: Coding): Promise<Buffer> {
    const made = this.#freshCompressed(object, coding)
    if (made !== undefined) return made
    const key = compressedKey(object, coding)
    const running = this.#compressing.get(key)
    if (running !== undefined) return running
    const { generation } = this.#reads
    const making = compress(object.bytes, coding).finally(() => this.#compressing.delete(key))
    this.#compressing.set(key, making)
    const bytes = await making
    if (generation === this.#reads.generation) this.#compressed.set(key, bytes)
    return bytes
  }

  /** Like `#compress`, but returns undefined if the bytes are not compressed yet. */
  #freshCompressed(object: CachedObject, coding: Coding): Buffer | undefined {
    return this.#compressed.get(compressedKey(object, coding))
  }

  /** Returns small bytes as a Latin-1 string, which Node sends in one piece with the head; undefined for others. */
  textOf(bytes: Buffer): string | undefined {
    if (bytes.length > MAX_TEXT_BYTES) return undefined
    let text = this.#texts.get(bytes)
    if (text === undefined) this.#texts.set(bytes, (text = bytes.toString('latin1')))
    return text
  }

  /** Opens an object that is not cached; `changed` if it was replaced. */
  async stream(info: ObjectInfo, range?: { readonly first: number; readonly last: number }) {
    const opened = await this.#store.open(info.key, { ifMatch: info.etag, range })
    if (typeof opened !== 'string') return opened.body
    this.#entries.delete(info.key)
    return 'changed'
  }

  purge(): void {
    this.#reads.purge()
    this.#entries.clear()
    this.#compressed.clear()
    this.#texts.clear()
  }

  #isFresh({ known, checkedMs }: Entry, missingTtlMs: number): boolean {
    const { ttlMs } = this.#limits
    const limit = known.is === 'missing' ? Math.min(missingTtlMs, ttlMs) : ttlMs
    return this.#clock.nowMs() - checkedMs < limit
  }

  #ask(key: string, old: CacheEntry | undefined): Promise<CacheEntry> {
    return this.#reads.ask(
      key,
      () => this.#fetch(key, old),
      (known) => this.#entries.set(key, { known, checkedMs: this.#clock.nowMs() }),
    )
  }

  async #fetch(key: string, old: CacheEntry | undefined): Promise<CacheEntry> {
    const ifNoneMatch = old === undefined || old.is === 'missing' ? undefined : old.info.etag
    const opened = await this.#store.open(key, { ifNoneMatch })
    if (opened === 'unchanged' && old !== undefined) return old
    if (typeof opened === 'string') return { is: 'missing' }
    const { body: _body, ...info } = opened
    const isCached = opened.size <= this.#limits.maxObjectBytes
    const bytes = isCached ? await readAll(opened) : await readHead(opened, HEAD_BYTES)
    const { contentEncoding } = info
    const decoded =
      contentEncoding === undefined ? undefined : await decodeHead(bytes, contentEncoding, DECODED_BYTES)
    return isCached ? { is: 'cached', info, bytes, decoded } : { is: 'large', info, head: bytes, decoded }
  }
}

function bytesOf(known: CacheEntry): number {
  if (known.is === 'missing') return 0
  const { length } = known.is === 'cached' ? known.bytes : known.head
  return length + (known.decoded?.length ?? 0)
}

/** A compressed form that is older than its object belongs to the object's previous version. */
function formFrom(coding: Coding, source: Sendable): EncodedForm {
  return { coding, source, bytes: source.is === 'cached' ? source.bytes : undefined }
}

function isSibling(known: CacheEntry, { lastModifiedMs }: ObjectInfo): known is Sendable {
  return known.is !== 'missing' && known.info.lastModifiedMs >= lastModifiedMs
}

function compressedKey({ info: { etag, key } }: CachedObject, coding: Coding): string {
  return `${coding}:${etag}:${key}`
}

function compress(bytes: Buffer, coding: Coding): Promise<Buffer> {
  if (coding === 'gzip') return compressGzip(bytes)
  return brotli(bytes, BROTLI_QUALITY)
}
