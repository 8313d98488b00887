import type { Known, ObjectCache } from '../cache/object-cache.ts'
import { REPOS, type RepoList } from '../repo/repo-list.ts'
import { formatPath, type RequestPath } from './request-path.ts'

/** What all paths outside `/repos/` are below. */
const ROOT = '_root'
const INDEX = 'index.html'
const NOT_FOUND = '404.html'

/** An object that can be sent. */
export type Sendable = Exclude<Known, { readonly is: 'missing' }>

/** What a path leads to. */
export type Page =
  | {
      readonly is: 'object'
      readonly object: Sendable
      /** Age of what is sent because the store fails. */
      readonly staleMs: number | undefined
      /** Whether it says that there is nothing. */
      readonly isNotFound: boolean
    }
  | { readonly is: 'redirect'; readonly to: string }
  /** Our own list of repositories. */
  | { readonly is: 'home' }
  | { readonly is: 'missing' }

/** Finds what a path leads to. Throws STORE_UNAVAILABLE. */
export class PageFinder {
  readonly #cache: ObjectCache
  readonly #repos: RepoList

  constructor(cache: ObjectCache, repos: RepoList) {
    this.#cache = cache
    this.#repos = repos
  }

  /** @param segments those of the path, below the repository's own host with `repos` and its name before them */
  async find({ segments, isDirectory }: RequestPath): Promise<Page> {
    const [first, name] = segments
    if (first !== 'repos' || name === undefined) return this.#findInRoot({ segments, isDirectory })
    const key = segments.join('/')
    const object = await this.#object(isDirectory ? `${key}/${INDEX}` : key)
    if (object !== undefined) return object
    if (!isDirectory && (await this.#object(`${key}/${INDEX}`)) !== undefined)
      return { is: 'redirect', to: formatPath(segments, true) }
    const latest = segments.length === 2 ? (await this.#repos.read()).get(name)?.latest : undefined
    if (latest !== undefined) return { is: 'redirect', to: formatPath([...segments, latest], true) }
    return this.#notFound(segments)
  }

  async #findInRoot({ segments, isDirectory }: RequestPath): Promise<Page> {
    const key = [ROOT, ...segments].join('/')
    const object = await this.#object(isDirectory ? `${key}/${INDEX}` : key)
    if (object !== undefined) return object
    const [name] = segments
    if (name === undefined) return { is: 'home' }
    if (!isDirectory && (await this.#object(`${key}/${INDEX}`)) !== undefined)
      return { is: 'redirect', to: formatPath(segments, true) }
    if ((await this.#repos.read()).has(name))
      return { is: 'redirect', to: formatPath(['repos', ...segments], isDirectory) }
    return (await this.#object(`${ROOT}/${NOT_FOUND}`, true)) ?? { is: 'missing' }
  }

  /** The page of the version, else of the repository, that says so. */
  async #notFound([, name = '', version]: readonly string[]): Promise<Page> {
    const inVersion =
      version === undefined ? undefined : await this.#object(`${REPOS}${name}/${version}/${NOT_FOUND}`, true)
    return inVersion ?? (await this.#object(`${REPOS}${name}/${NOT_FOUND}`, true)) ?? { is: 'missing' }
  }

  async #object(key: string, isNotFound = false): Promise<Page | undefined> {
    const known = this.#cache.fresh(key)
    const looked = known === undefined ? await this.#cache.look(key) : { known, staleMs: undefined }
    const { known: object, staleMs } = looked
    return object.is === 'missing' ? undefined : { is: 'object', object, staleMs, isNotFound }
  }
}
