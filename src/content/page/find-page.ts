import type { Sendable } from '../cache/object-cache.ts'
import type { SiteObjects } from '../publication/site-objects.ts'
import { REPOS, type RepoList } from '../repo/repo-list.ts'
import { formatPath, type RequestPath } from './request-path.ts'

/** Folder of all paths outside `/repos/`. */
const ROOT = '_root'
const INDEX = 'index.html'
const NOT_FOUND = '404.html'

/** Result of resolving a path. */
export type Page =
  | {
      readonly is: 'object'
      readonly object: Sendable
      /** Age of a stale copy that is sent because the store fails. */
      readonly staleMs: number | undefined
      /** Whether this is a "not found" page. */
      readonly isNotFound: boolean
    }
  | { readonly is: 'redirect'; readonly to: string }
  /** The generated list of repositories. */
  | { readonly is: 'home' }
  | { readonly is: 'missing' }

/** Resolves a path. @throws STORE_UNAVAILABLE when the store fails */
export class PageFinder {
  readonly #objects: SiteObjects
  readonly #repos: RepoList

  constructor(objects: SiteObjects, repos: RepoList) {
    this.#objects = objects
    this.#repos = repos
  }

  /**
   * Returns the page of a path; synchronously if it is in memory.
   *
   * @param path on a repository's host, preceded by `repos` and the repository's name
   */
  find(path: RequestPath): Page | Promise<Page> {
    const { segments, isDirectory } = path
    const base = isOfRepo(segments) ? segments : [ROOT, ...segments]
    const key = isDirectory ? `${base.join('/')}/${INDEX}` : base.join('/')
    const object = this.#objects.fresh(key)
    if (object !== undefined && object.is !== 'missing')
      return { is: 'object', object, staleMs: undefined, isNotFound: false }
    return this.#search(path, base.join('/'), key)
  }

  async #search({ segments, isDirectory }: RequestPath, base: string, key: string): Promise<Page> {
    const object = await this.#object(key)
    if (object !== undefined) return object
    if (segments.length === 0) return { is: 'home' }
    if (!isDirectory && (await this.#object(`${base}/${INDEX}`)) !== undefined)
      return { is: 'redirect', to: formatPath(segments, true) }
    return isOfRepo(segments) ? this.#otherInRepo(segments) : this.#otherInRoot({ segments, isDirectory })
  }

  async #otherInRepo(segments: readonly string[]): Promise<Page> {
    const [, name = ''] = segments
    const latest = segments.length === 2 ? (await this.#repos.read()).get(name)?.latest : undefined
    if (latest !== undefined) return { is: 'redirect', to: formatPath([...segments, latest], true) }
    return this.#notFound(segments)
  }

  async #otherInRoot({ segments, isDirectory }: RequestPath): Promise<Page> {
    const [name = ''] = segments
    if ((await this.#repos.read()).has(name))
      return { is: 'redirect', to: formatPath(['repos', ...segments], isDirectory) }
    return (await this.#object(`${ROOT}/${NOT_FOUND}`, true)) ?? { is: 'missing' }
  }

  /** Returns the "not found" page of the version, else of the repository. */
  async #notFound([, name = '', version]: readonly string[]): Promise<Page> {
    const inVersion =
      version === undefined ? undefined : await this.#object(`${REPOS}${name}/${version}/${NOT_FOUND}`, true)
    return inVersion ?? (await this.#object(`${REPOS}${name}/${NOT_FOUND}`, true)) ?? { is: 'missing' }
  }

  async #object(key: string, isNotFound = false): Promise<Page | undefined> {
    const known = this.#objects.fresh(key)
    const result = known === undefined ? await this.#objects.lookUp(key) : { known, staleMs: undefined }
    const { known: object, staleMs } = result
    return object.is === 'missing' ? undefined : { is: 'object', object, staleMs, isNotFound }
  }
}

function isOfRepo(segments: readonly string[]): boolean {
  return segments[0] === 'repos' && segments.length > 1
}
