import type { CacheEntry, LookupResult, ObjectCache, Sendable } from '../cache/object-cache.ts'
import type { CachedMetas } from '../repo/cached-metas.ts'
import { formsOf } from '../name-form.ts'
import { isRepoName } from '../repo/meta.ts'
import { REPOS } from '../repo/repo-list.ts'
import { contentKey } from './content-key.ts'
import type { Published } from './manifest.ts'
import type { Publication, Publications } from './publications.ts'

/** Location of a page's object in the store. */
type Place =
  | { readonly is: 'key' }
  | { readonly is: 'content'; readonly key: string; readonly file: Published }
  /** The key belongs to an object that readers may not get under it. */
  | { readonly is: 'hidden' }

const KEY: Place = { is: 'key' }
const HIDDEN: Place = { is: 'hidden' }
const MISSING: CacheEntry = { is: 'missing' }

/**
 * Objects of the site by key. In a repository or version with a manifest, they are the files of one publication, and
 * all change at once; all others are the store's objects under the same keys. Those of an expired version are missing.
 * Below the name of its repository, a key is found in any form of Unicode.
 */
export class SiteObjects {
  readonly #cache: ObjectCache
  readonly #publications: Publications
  readonly #metas: CachedMetas
  readonly #places = new WeakMap<Published, Place>()
  /** Entries of contents as files. */
  readonly #views = new WeakMap<Published, { readonly of: Sendable; readonly view: Sendable }>()

  constructor(cache: ObjectCache, publications: Publications, metas: CachedMetas) {
    this.#cache = cache
    this.#publications = publications
    this.#metas = metas
  }

  /** Returns a valid entry without asking the store. */
  fresh(key: string): CacheEntry | undefined {
    const folders = foldersOf(key)
    const version = versionOf(folders)
    const hasExpired = version && this.#metas.freshExpiry(...version)
    if (hasExpired === true) return MISSING
    if (version !== undefined && hasExpired === undefined) return undefined
    const found: (Publication | undefined)[] = []
    for (const folder of folders) {
      const publication = this.#publications.fresh(folder)
      if (publication === undefined) return undefined
      found.push(publication === 'none' ? undefined : publication)
    }
    const entry = this.#freshAt(key, this.#placeOf(key, folders, found))
    if (entry?.is !== 'missing') return entry
    return folders.every((folder) => this.#publications.isRecent(folder)) ? entry : undefined
  }

  /** Returns an object, asking the store if necessary. @throws STORE_UNAVAILABLE when the store fails and no copy is cached */
  async lookUp(key: string): Promise<LookupResult> {
    const version = versionOf(foldersOf(key))
    if (version !== undefined && (await this.#metas.hasExpired(...version)))
      return { known: MISSING, staleMs: undefined }
    const first = await this.#lookUpOnce(key)
    if (first.known.is !== 'missing') return first
    // It may have been published, or its content deleted, after the publication was read.
    const changes = await Promise.all(foldersOf(key).map((folder) => this.#publications.renew(folder)))
    return changes.includes(true) ? this.#lookUpOnce(key) : first
  }

  /** Returns the key under which the newest publication stores an object. @throws STORE_UNAVAILABLE when the store fails */
  async locate(key: string): Promise<string> {
    const folders = foldersOf(key)
    await Promise.all(folders.map((folder) => this.#publications.renew(folder)))
    const place = await this.#place(key)
    return place.is === 'content' ? place.key : key
  }

  async #lookUpOnce(key: string): Promise<LookupResult> {
    const place = await this.#place(key)
    if (place.is === 'hidden') return { known: MISSING, staleMs: undefined }
    if (place.is === 'key') return this.#lookUpKey(key)
    const { known, staleMs } = await this.#cache.lookUp(place.key)
    return { known: this.#asFile(place.file, known), staleMs }
  }

  async #lookUpKey(key: string): Promise<LookupResult> {
    const [first = key, ...others] = keyForms(key)
    let result = await this.#cache.lookUp(first)
    for (const other of others) if (result.known.is === 'missing') result = await this.#cache.lookUp(other)
    return result
  }

  async #place(key: string): Promise<Place> {
    const folders = foldersOf(key)
    const found = await Promise.all(folders.map((folder) => this.#publications.lookUp(folder)))
    return this.#placeOf(key, folders, found)
  }

  #freshAt(key: string, place: Place): CacheEntry | undefined {
    if (place.is === 'hidden') return MISSING
    if (place.is === 'key') return this.#freshKey(key)
    const entry = this.#cache.fresh(place.key)
    return entry === undefined ? undefined : this.#asFile(place.file, entry)
  }

  #freshKey(key: string): CacheEntry | undefined {
    for (const form of keyForms(key)) {
      const entry = this.#cache.fresh(form)
      if (entry?.is !== 'missing') return entry
    }
    return MISSING
  }

  #placeOf(key: string, folders: readonly string[], found: readonly (Publication | undefined)[]): Place {
    for (const [at, folder] of folders.entries()) {
      const publication = found[at]
      if (publication === undefined) continue
      const path = key.slice(folder.length)
      const file = publication.find(path)
      if (file !== undefined) return this.#contentOf(file, folder)
      if (publication.isHidden(path)) return HIDDEN
    }
    return KEY
  }

  #contentOf(file: Published, folder: string): Place {
    const known = this.#places.get(file)
    if (known !== undefined) return known
    const place: Place = { is: 'content', key: folder + contentKey(file.sha256), file }
    this.#places.set(file, place)
    return place
  }

  /** Returns a content as a file, the same object each time: headers are kept for it. */
  #asFile(file: Published, content: CacheEntry): CacheEntry {
    if (content.is === 'missing') return content
    const kept = this.#views.get(file)
    if (kept?.of === content) return kept.view
    const view: Sendable = { ...content, published: { path: file.path, modifiedMs: file.modified } }
    this.#views.set(file, { of: content, view })
    return view
  }
}

/** Returns a key in all forms that name the same object. The name of a repository has one: it decides who may read it. */
function keyForms(key: string): readonly string[] {
  const folder = foldersOf(key).at(-1) ?? (key.startsWith(REPOS) ? key : '')
  return formsOf(key.slice(folder.length)).map((path) => folder + path)
}

/** Returns the folders that may have a manifest with a key, the innermost first: its version's and its repository's. */
function foldersOf(key: string): readonly string[] {
  if (!key.startsWith(REPOS)) return []
  const repoEnd = key.indexOf('/', REPOS.length)
  if (repoEnd === -1) return []
  const repo = key.slice(0, repoEnd + 1)
  const versionEnd = key.indexOf('/', repoEnd + 1)
  if (versionEnd === -1 || !isRepoName(key.slice(repoEnd + 1, versionEnd))) return [repo]
  return [key.slice(0, versionEnd + 1), repo]
}

/** Returns the repository and version of a key's folders; undefined if it cannot be in a version. */
function versionOf([folder = '', root]: readonly string[]):
  readonly [repo: string, version: string] | undefined {
  return root === undefined ? undefined : [root.slice(REPOS.length, -1), folder.slice(root.length, -1)]
}
