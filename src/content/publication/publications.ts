import { LRUCache } from 'lru-cache'
import type { Clock } from '../../lib/clock/clock.ts'
import { isFault } from '../../lib/errors/fault.ts'
import { fault } from '../errors.ts'
import { comparable } from '../name-form.ts'
import { readObject } from '../store/read-object.ts'
import { inTime, SharedReads } from '../store/shared-reads.ts'
import type { ReadableStore } from '../store/store.ts'
import { isContentKey } from './content-key.ts'
import {
  IndexedManifest,
  isOfThisFormat,
  MANIFEST_FILE,
  MAX_MANIFEST_BYTES,
  type Published,
} from './manifest.ts'

/** Memory for manifests; each fits. */
const MAX_BYTES = MAX_MANIFEST_BYTES
/** Overhead of an entry besides its bytes and its key. */
const ENTRY_BYTES = 512
/** Maximum number of files whose entries remain parsed, per publication. */
const MAX_PARSED = 10_000

/** Files of a folder that were published together. */
export class Publication {
  readonly etag: string
  readonly #manifest: IndexedManifest
  readonly #hidden: ReadonlySet<string>
  readonly #parsed = new Map<string, Published>()
  /** Paths that are not in the form in which paths are compared, by that form. */
  readonly #otherForms: ReadonlyMap<string, string>

  constructor(etag: string, manifest: IndexedManifest) {
    this.etag = etag
    this.#manifest = manifest
    this.#hidden = new Set(manifest.retired(true).map(({ key }) => comparable(key)))
    this.#otherForms = manifest.otherForms()
  }

  /** Memory that it uses, without parsed entries. */
  get byteLength(): number {
    let bytes = this.#manifest.byteLength
    for (const [form, path] of this.#otherForms) bytes += 2 * (form.length + path.length) + ENTRY_BYTES
    return bytes
  }

  /**
   * Returns a file by its path in the folder, in any form of Unicode; the one with exactly this path precedes. Returns
   * the same object each time while it is in use.
   */
  find(path: string): Published | undefined {
    const form = comparable(path)
    return this.#find(path) ?? (form === path ? undefined : this.#find(form)) ?? this.#findOther(form)
  }

  #find(path: string): Published | undefined {
    const known = this.#parsed.get(path)
    if (known !== undefined) return known
    const file = this.#manifest.find(path)
    if (file === undefined) return undefined
    if (this.#parsed.size >= MAX_PARSED) this.#parsed.clear()
    this.#parsed.set(path, file)
    return file
  }

  #findOther(form: string): Published | undefined {
    const path = this.#otherForms.get(form)
    return path === undefined ? undefined : this.#find(path)
  }

  /** Whether an object in the folder belongs to another publication or is stored by its content. */
  isHidden(path: string): boolean {
    return this.#hidden.has(comparable(path)) || isContentKey(path)
  }
}

interface Entry {
  /** Undefined if the folder has no manifest: its objects are published under their keys. */
  readonly publication: Publication | undefined
  /** Monotonic time of the store's answer. */
  readonly checkedMs: number
}

/** Expiry of publications. */
export interface PublicationLimits {
  readonly ttlMs: number
  readonly negativeTtlMs: number
}

/**
 * Current publications of repositories and versions, by folder (a key that ends with a slash). Each is replaced as a
 * whole, so readers never get files of two publications from one lookup to the next unless a new one was published.
 * Expired ones are revalidated by ETag, and used while the store fails (fault F22).
 */
export class Publications {
  readonly #store: ReadableStore
  readonly #limits: PublicationLimits
  readonly #clock: Clock
  readonly #entries = new LRUCache<string, Entry>({
    maxSize: MAX_BYTES,
    sizeCalculation: ({ publication }, folder) =>
      Math.min(MAX_BYTES, (publication?.byteLength ?? 0) + 2 * folder.length + ENTRY_BYTES),
  })
  readonly #reads: SharedReads<Entry>

  constructor(store: ReadableStore, limits: PublicationLimits, clock: Clock) {
    this.#store = store
    this.#limits = limits
    this.#clock = clock
    this.#reads = new SharedReads(clock)
  }

  /** Returns the publication of a folder if it is valid, `none` if the folder has none, undefined if it must be read. */
  fresh(folder: string): Publication | 'none' | undefined {
    const entry = this.#entries.get(folder)
    if (entry === undefined || !this.#isFresh(entry, this.#limits.ttlMs)) return undefined
    return entry.publication ?? 'none'
  }

  /** Whether a folder was checked so recently that an object missing in it counts as missing. */
  isRecent(folder: string): boolean {
    const entry = this.#entries.get(folder)
    return entry !== undefined && this.#isFresh(entry, this.#negativeTtlMs)
  }

  /**
   * Returns the publication of a folder, reading it if it is not valid.
   *
   * @param maxAgeMs age up to which it is valid
   * @throws STORE_UNAVAILABLE when the store fails and it was never read
   */
  async lookUp(folder: string, maxAgeMs = this.#limits.ttlMs): Promise<Publication | undefined> {
    const entry = this.#entries.get(folder)
    if (entry !== undefined && this.#isFresh(entry, maxAgeMs)) return entry.publication
    if (entry === undefined) return (await this.#ask(folder, undefined)).publication
    if (this.#reads.isResting) return entry.publication
    const asking = this.#ask(folder, entry.publication).catch((error: unknown) => {
      if (isFault(error) && error.code === 'STORE_UNAVAILABLE') return entry
      throw error
    })
    const known = await inTime(asking, () => {
      this.#reads.rest()
      return entry
    })
    return known.publication
  }

  /** Checks whether a folder has a newer publication, unless that was checked just now. Returns whether it has. */
  async renew(folder: string): Promise<boolean> {
    const before = this.#entries.get(folder)?.publication?.etag
    return (await this.lookUp(folder, this.#negativeTtlMs))?.etag !== before
  }

  /** Makes the next lookup of each folder read it again. */
  purge(): void {
    this.#reads.purge()
    this.#entries.clear()
  }

  get #negativeTtlMs(): number {
    return Math.min(this.#limits.negativeTtlMs, this.#limits.ttlMs)
  }

  #isFresh({ checkedMs }: Entry, maxAgeMs: number): boolean {
    return this.#clock.nowMs() - checkedMs < maxAgeMs
  }

  #ask(folder: string, old: Publication | undefined): Promise<Entry> {
    return this.#reads.ask(
      folder,
      async () => ({ publication: await this.#read(folder, old), checkedMs: this.#clock.nowMs() }),
      (entry) => this.#entries.set(folder, entry),
    )
  }

  async #read(folder: string, old: Publication | undefined): Promise<Publication | undefined> {
    const key = `${folder}${MANIFEST_FILE}`
    const read = await readObject(this.#store, key, MAX_MANIFEST_BYTES, { ifNoneMatch: old?.etag })
    if (read === 'unchanged') return old
    if (typeof read === 'string') return undefined
    const { bytes, etag } = read
    const manifest = IndexedManifest.parse(bytes)
    if (manifest !== undefined) return new Publication(etag, manifest)
    if (isOfThisFormat(bytes)) throw fault('STORE_UNAVAILABLE', `the object "${key}" is damaged`)
    return undefined
  }
}
