import type { Grants } from '../access/grants.ts'
import type { Sendable } from '../cache/object-cache.ts'
import type { SiteObjects } from '../publication/site-objects.ts'
import { REPOS, type RepoList } from '../repo/repo-list.ts'
import { formatPath, repoOf, type RequestPath } from './request-path.ts'

/** Folder of all paths outside `/repos/`. */
const ROOT = '_root'
const INDEX = 'index.html'
const NOT_FOUND = '404.html'
/** Turns the name of a repository into one that nothing is published under. */
const MISSING_PREFIX = '.denied-'

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
   * Returns the page of a path; synchronously if it is in memory. A repository that the reader may not read is missing.
   *
   * @param path on a repository's host, preceded by `repos` and the repository's name
   */
  find(path: RequestPath, grants: Grants): Page | Promise<Page> {
    const repo = repoOf(path.segments)
    if (isReadable(repo, grants)) return this.#find(path, grants)
    return repo === undefined ? this.#otherThanSite(path, grants) : this.#denied(path, grants)
  }

  /**
   * Returns the object of a path that the reader may read, if it is in memory; undefined if `find` must decide.
   *
   * @param key of the path, from `keyOf`
   */
  fresh(path: RequestPath, key: string, grants: Grants): Sendable | undefined {
    if (!isReadable(repoOf(path.segments), grants)) return undefined
    const object = this.#objects.fresh(key)
    return object?.is === 'missing' ? undefined : object
  }

  #find(path: RequestPath, grants: Grants): Page | Promise<Page> {
    const key = keyOf(path)
    const object = this.#objects.fresh(key)
    if (object !== undefined && object.is !== 'missing')
      return { is: 'object', object, staleMs: undefined, isNotFound: false }
    return this.#search(path, grants, baseOf(path).join('/'), key)
  }

  /**
   * Does the same lookups as for a missing repository, so that neither time nor a failing store reveals
   * whether it exists.
   */
  async #denied(
    { segments: [first = '', name = '', ...rest], ...path }: RequestPath,
    grants: Grants,
  ): Promise<Page> {
    await this.#find({ ...path, segments: [first, MISSING_PREFIX + name, ...rest] }, grants)
    return { is: 'missing' }
  }

  async #search(
    { segments, isDirectory }: RequestPath,
    grants: Grants,
    base: string,
    key: string,
  ): Promise<Page> {
    const object = await this.#object(key)
    if (object !== undefined) return object
    if (segments.length === 0) return { is: 'home' }
    if (!isDirectory && (await this.#object(`${base}/${INDEX}`)) !== undefined)
      return { is: 'redirect', to: formatPath(segments, true) }
    if (repoOf(segments) !== undefined) return this.#otherInRepo(segments)
    const other = await this.#repoRedirect({ segments, isDirectory }, grants)
    return other ?? (await this.#object(`${ROOT}/${NOT_FOUND}`, true)) ?? { is: 'missing' }
  }

  async #otherInRepo(segments: readonly string[]): Promise<Page> {
    const [, name = ''] = segments
    const latest = segments.length === 2 ? (await this.#repos.read()).get(name)?.latest : undefined
    if (latest !== undefined) return { is: 'redirect', to: formatPath([...segments, latest], true) }
    return this.#notFound(segments)
  }

  /** Returns the generated pages outside of repositories. */
  async #otherThanSite(path: RequestPath, grants: Grants): Promise<Page> {
    if (path.segments.length === 0) return { is: 'home' }
    return (await this.#repoRedirect(path, grants)) ?? { is: 'missing' }
  }

  /** Redirects `/REPO/PATH` to the repository. */
  async #repoRedirect({ segments, isDirectory }: RequestPath, grants: Grants): Promise<Page | undefined> {
    const [name = ''] = segments
    if (!(await this.#repos.read()).has(name) || !grants.mayRead(name)) return undefined
    return { is: 'redirect', to: formatPath(['repos', ...segments], isDirectory) }
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

function isReadable(repo: string | undefined, grants: Grants): boolean {
  return repo === undefined ? grants.hasSite : grants.mayRead(repo)
}

function baseOf({ segments }: RequestPath): readonly string[] {
  return repoOf(segments) === undefined ? [ROOT, ...segments] : segments
}

/** Returns the key of the object that a path names. */
export function keyOf(path: RequestPath): string {
  const base = baseOf(path).join('/')
  return path.isDirectory ? `${base}/${INDEX}` : base
}
