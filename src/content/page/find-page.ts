import type { Grants } from '../access/grants.ts'
import type { Sendable } from '../cache/object-cache.ts'
import type { SiteObjects } from '../publication/site-objects.ts'
import { REPOS, type RepoList } from '../repo/repo-list.ts'
import {
  addressOf,
  MAX_REDIRECTS_BYTES,
  type Redirection,
  REDIRECTS_FILE,
  RedirectRules,
  type RedirectStatus,
} from './redirect-rules.ts'
import { formatPath, parsePath, pathPartOf, repoOf, type RequestPath } from './request-path.ts'
import { isHtmlPage } from './content-type.ts'
import type { VersionPath, VersionPaths } from './version-path.ts'
import type { VersionSwitcher } from './version-switcher.ts'

/** Folder of all paths outside `/repos/`. */
const ROOT = '_root'
const INDEX = 'index.html'
const NOT_FOUND = '404.html'
/** File in which programs look for a list of pages (llmstxt.org). */
const LLMS = 'llms.txt'
/** Files for servers in the folder of a repository or version, which are not for readers. */
const OWN_FILE = /^repos\/[^/]+\/(?:[^/]+\/)?_(?:(?:meta|files|search)\.json|redirects)$/
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
      /** Path of the page whose Markdown was requested by its address with `.md` appended. */
      readonly markdownOf?: RequestPath
      /** The rule that serves it under another path. */
      readonly rule?: RuleId
    }
  | {
      readonly is: 'redirect'
      /** A path of the common host, or a URL of another site. */
      readonly to: string
      /** Default: 302. */
      readonly status?: RedirectStatus
      /** The rule that redirects. */
      readonly rule?: RuleId
    }
  /** The generated list of repositories. */
  | { readonly is: 'home' }
  /** The generated `llms.txt` of a version, a repository or the site. */
  | { readonly is: 'llms'; readonly repo?: string; readonly version?: string }
  | {
      readonly is: 'missing'
      /** An existing repository, which the reader may read, that has no such page. */
      readonly repo?: string
    }

/** A rule: the key of its file and its line. */
export type RuleId = `${string}:${number}`

/** Result of following the redirects of a path within the site. */
export interface Followed {
  /** Path of the last page. */
  readonly path: RequestPath
  /** The last page; a redirect if it is to another site, or if the redirects never end. */
  readonly page: Page
  /** Rules that redirect, in order; the last one again if they never end. */
  readonly rules: readonly RuleId[]
  readonly isEndless: boolean
}

/** Returns the path of an http or https URL in this site; undefined for other sites. */
type PathOfUrl = (url: string) => RequestPath | undefined

/** Redirects of one request; browsers follow twenty, and crawlers ten. */
const MAX_REDIRECTS = 10

/** Resolves a path. @throws STORE_UNAVAILABLE when the store fails */
export class PageFinder {
  readonly #objects: SiteObjects
  readonly #repos: Pick<RepoList, 'read'>
  readonly #versions: VersionPaths
  readonly #switcher: VersionSwitcher | undefined
  /** Parsed redirects of cached files. */
  readonly #rules = new WeakMap<Sendable, RedirectRules>()

  /** @param switcher added to the pages of versions */
  constructor(
    objects: SiteObjects,
    repos: Pick<RepoList, 'read'>,
    versions: VersionPaths,
    switcher?: VersionSwitcher,
  ) {
    this.#objects = objects
    this.#repos = repos
    this.#versions = versions
    this.#switcher = switcher
  }

  /**
   * Returns the page of a path; synchronously if it is in memory. A repository that the reader may not read is missing.
   * So is a path whose redirects would never end: another publication can complete a circle that `publish` cannot see.
   *
   * @param path on a repository's host, preceded by `repos` and the repository's name
   * @param pathOf returns the path of a URL of this site
   */
  find(path: RequestPath, grants: Grants, pathOf?: PathOfUrl): Page | Promise<Page> {
    const page = this.step(path, grants)
    return page instanceof Promise ? page.then((found) => this.#ending(found, path, grants, pathOf)) : page
  }

  /** Returns the page of a path as `find` does, also if its redirects never end. */
  step(path: RequestPath, grants: Grants): Page | Promise<Page> {
    const repo = repoOf(path.segments)
    if (isReadable(repo, grants)) return this.#find(path, grants)
    return repo === undefined ? this.#otherThanSite(path, grants) : this.#denied(path, grants)
  }

  /** Follows the redirects of a path within the site, until a rule would redirect a second time. */
  async follow(path: RequestPath, grants: Grants, pathOf?: PathOfUrl): Promise<Followed> {
    const rules: RuleId[] = []
    let at = path
    for (let redirects = 0; ; redirects++) {
      const page = await this.step(at, grants)
      const next = page.is === 'redirect' ? targetOf(page.to, pathOf) : undefined
      if (page.is !== 'redirect' || next === undefined) return { path: at, page, rules, isEndless: false }
      const isAgain = page.rule !== undefined && rules.includes(page.rule)
      if (page.rule !== undefined) rules.push(page.rule)
      if (isAgain || redirects === MAX_REDIRECTS) return { path: at, page, rules, isEndless: true }
      at = next
    }
  }

  /**
   * Returns the object of a path that the reader may read, if it is in memory; undefined if `find` must decide.
   *
   * @param key of the path, from `keyOf`
   */
  fresh(path: RequestPath, key: string, grants: Grants): Sendable | undefined {
    return isReadable(repoOf(path.segments), grants) ? this.#fresh(path, key) : undefined
  }

  #find(path: RequestPath, grants: Grants): Page | Promise<Page> {
    const object = this.#fresh(path, keyOf(path))
    return object === undefined
      ? this.#search(path, grants)
      : { is: 'object', object, staleMs: undefined, isNotFound: false }
  }

  async #ending(page: Page, path: RequestPath, grants: Grants, pathOf?: PathOfUrl): Promise<Page> {
    if (page.is !== 'redirect' || page.rule === undefined) return page
    if (!(await this.follow(path, grants, pathOf)).isEndless) return page
    const isInRepo = repoOf(path.segments) !== undefined
    // The only other paths that rules redirect are those of `#repoRedirect`.
    const inRepo = isInRepo ? path : { ...path, segments: ['repos', ...path.segments] }
    return this.#notFound(await this.#versions.resolve(inRepo))
  }

  #fresh(path: RequestPath, key: string): Sendable | undefined {
    if (isOwnFile(key)) return undefined
    const found = this.#versions.fresh(path)
    if (found === undefined) return undefined
    const object = this.#objects.fresh(found.path === path ? key : keyOf(found.path))
    return object === undefined || object.is === 'missing' ? undefined : this.#shown(object, found)
  }

  #shown(object: Sendable, { isVersion }: Pick<VersionPath, 'isVersion'>): Sendable {
    return isVersion && this.#switcher !== undefined ? this.#switcher.add(object) : object
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

  /** @param asked path of the request, in which a version may have another name */
  async #search(asked: RequestPath, grants: Grants): Promise<Page> {
    const found = await this.#versions.resolve(asked)
    const { path } = found
    const { segments } = path
    const object = await this.#file(path, found)
    if (object !== undefined) return object
    if (segments.length === 0) return { is: 'home' }
    const derived = (await this.#llms(path, found)) ?? (await this.#markdown(asked, found))
    if (derived !== undefined) return derived
    const clean = await this.#clean(asked, found)
    if (clean !== undefined) return clean
    if (repoOf(segments) !== undefined) return this.#otherInRepo(asked, found)
    const other = await this.#repoRedirect(path, grants)
    return other ?? (await this.#object(`${ROOT}/${NOT_FOUND}`, found, true)) ?? { is: 'missing' }
  }

  /**
   * Returns the page of an address without a file: `page` is `page.html`, and redirects to `page/` if that is a folder
   * with an index; `page/` without an index redirects to `page`.
   */
  async #clean(asked: RequestPath, found: VersionPath): Promise<Page | undefined> {
    const { segments, isDirectory } = found.path
    // Beside the folder of a repository there are no files of it.
    const isFile = segments.length !== (repoOf(segments) === undefined ? 0 : 2)
    const file = isFile
      ? await this.#file(withSuffix({ segments, isDirectory: false }, '.html'), found)
      : undefined
    if (!isDirectory) {
      const isFolder =
        file === undefined && (await this.#file({ segments, isDirectory: true }, found)) !== undefined
      return isFolder ? { is: 'redirect', to: formatPath(asked.segments, true) } : file
    }
    return file && { is: 'redirect', to: formatPath(asked.segments, false) }
  }

  /** Returns the list of pages at an address without a published one. */
  async #llms({ segments, isDirectory }: RequestPath, { isVersion }: VersionPath): Promise<Page | undefined> {
    if (isDirectory || segments.at(-1) !== LLMS) return undefined
    if (segments.length === 1) return { is: 'llms' }
    const repo = repoOf(segments)
    if (repo === undefined || segments.length > 4) return undefined
    const [, , version = ''] = segments
    if (segments.length === 4) return isVersion ? { is: 'llms', repo, version } : undefined
    const meta = (await this.#repos.read()).get(repo)
    if (meta === undefined) return undefined
    const { latest } = meta
    const inVersion = latest === undefined ? [] : ['repos', repo, latest, LLMS]
    const isPublished = latest !== undefined && (await this.#object(inVersion.join('/'), { isVersion: true }))
    return isPublished ? { is: 'redirect', to: formatPath(inVersion, false) } : { is: 'llms', repo }
  }

  /** Returns the page of an address to which `.md` was appended, if it is an HTML page. */
  async #markdown(asked: RequestPath, found: VersionPath): Promise<Page | undefined> {
    const pages = [asked, found.path].map(withoutMarkdown)
    const [markdownOf, path] = pages
    if (markdownOf === undefined || path === undefined) return undefined
    for (const file of [path, withSuffix(path, '.html')]) {
      const page = await this.#file(file, found)
      if (page?.is === 'object' && isHtmlPage(page.object)) return { ...page, markdownOf }
    }
    return undefined
  }

  async #otherInRepo(asked: RequestPath, found: VersionPath): Promise<Page> {
    const { segments } = found.path
    const ruled = await this.#byRule(asked, found)
    if (ruled !== undefined) return ruled
    const [, name = ''] = segments
    const latest = segments.length === 2 ? (await this.#repos.read()).get(name)?.latest : undefined
    if (latest !== undefined) return { is: 'redirect', to: formatPath([...segments, latest], true) }
    return this.#notFound(found)
  }

  /** Returns the generated pages outside of repositories. */
  async #otherThanSite(path: RequestPath, grants: Grants): Promise<Page> {
    if (path.segments.length === 0) return { is: 'home' }
    if (path.segments.join('/') === LLMS) return { is: 'llms' }
    return (await this.#repoRedirect(path, grants)) ?? { is: 'missing' }
  }

  /** Redirects `/REPO/PATH` to the repository, and past the redirects that would follow. */
  async #repoRedirect({ segments, isDirectory }: RequestPath, grants: Grants): Promise<Page | undefined> {
    const [name = ''] = segments
    if (!(await this.#repos.read()).has(name) || !grants.mayRead(name)) return undefined
    const inRepo = { segments: ['repos', ...segments], isDirectory }
    const page = await this.#find(inRepo, grants)
    return page.is === 'redirect' ? page : { is: 'redirect', to: formatPath(inRepo.segments, isDirectory) }
  }

  /** Returns the object of exactly a path. */
  async #file(path: RequestPath, found: VersionPath): Promise<Page | undefined> {
    const key = keyOf(path)
    return isOwnFile(key) ? undefined : this.#object(key, found)
  }

  /** Applies the redirects of the version, else of the repository. Pages that exist take precedence over rules. */
  async #byRule(asked: RequestPath, found: VersionPath): Promise<Page | undefined> {
    const { segments, isDirectory } = found.path
    for (const depth of segments.length > 2 ? [3, 2] : [2]) {
      const folder = segments.slice(0, depth)
      const target = (await this.#rulesIn(folder))?.find(segments.slice(depth), isDirectory)
      if (target === undefined) continue
      const { status, line } = target
      const rule: RuleId = `${keyOfRules(folder)}:${line}`
      // An alias remains in the address.
      if (status !== 200)
        return { is: 'redirect', to: addressOf(target, asked.segments.slice(0, depth)), status, rule }
      const page = await this.#inPlace(target, folder, asked)
      if (page?.is === 'object') return { ...page, rule }
      if (page !== undefined) return page
    }
    return undefined
  }

  /** Returns the page that a rule serves in place of another. */
  async #inPlace(
    { path, endsAsAsked }: Redirection,
    folder: readonly string[],
    asked: RequestPath,
  ): Promise<Page | undefined> {
    const { segments, isDirectory } = path ?? { segments: [], isDirectory: true }
    const target = { segments: [...folder, ...segments], isDirectory: isDirectory || segments.length === 0 }
    const there = await this.#versions.resolve(target)
    const page = (await this.#file(there.path, there)) ?? (await this.#clean(asked, there))
    if (page?.is !== 'redirect' || endsAsAsked) return page
    // The address of the request has another end than that of the page, and keeps it.
    const other = { ...there, path: { ...there.path, isDirectory: !there.path.isDirectory } }
    return (await this.#file(other.path, other)) ?? (await this.#clean(asked, other))
  }

  async #rulesIn(folder: readonly string[]): Promise<RedirectRules | undefined> {
    const key = keyOfRules(folder)
    const file = this.#objects.fresh(key) ?? (await this.#objects.lookUp(key)).known
    if (file.is !== 'cached' || file.bytes.length > MAX_REDIRECTS_BYTES) return undefined
    let rules = this.#rules.get(file)
    if (rules === undefined) {
      rules = RedirectRules.parse(file.bytes.toString()).rules
      this.#rules.set(file, rules)
    }
    return rules
  }

  /** Returns the "not found" page of the version, else of the repository. */
  async #notFound(found: VersionPath): Promise<Page> {
    const [, name = '', version] = found.path.segments
    const inVersion =
      version === undefined
        ? undefined
        : await this.#object(`${REPOS}${name}/${version}/${NOT_FOUND}`, found, true)
    const inRepo = { isVersion: false }
    const page = inVersion ?? (await this.#object(`${REPOS}${name}/${NOT_FOUND}`, inRepo, true))
    return page ?? ((await this.#repos.read()).has(name) ? { is: 'missing', repo: name } : { is: 'missing' })
  }

  async #object(
    key: string,
    found: Pick<VersionPath, 'isVersion'>,
    isNotFound = false,
  ): Promise<Page | undefined> {
    const known = this.#objects.fresh(key)
    const result = known === undefined ? await this.#objects.lookUp(key) : { known, staleMs: undefined }
    const { known: object, staleMs } = result
    if (object.is === 'missing') return undefined
    return { is: 'object', object: this.#shown(object, found), staleMs, isNotFound }
  }
}

/** Returns the path to which a redirect goes, if that is in this site. */
function targetOf(to: string, pathOf: PathOfUrl | undefined): RequestPath | undefined {
  return to.startsWith('/') ? parsePath(pathPartOf(to)) : pathOf?.(to)
}

function keyOfRules(folder: readonly string[]): string {
  return `${folder.join('/')}/${REDIRECTS_FILE}`
}

function withoutMarkdown({ segments, isDirectory }: RequestPath): RequestPath | undefined {
  const [, name] = /^(.+)\.md$/.exec(segments.at(-1) ?? '') ?? []
  if (name === undefined || isDirectory) return undefined
  return { segments: [...segments.slice(0, -1), name], isDirectory }
}

function withSuffix({ segments, isDirectory }: RequestPath, suffix: string): RequestPath {
  return { segments: [...segments.slice(0, -1), (segments.at(-1) ?? '') + suffix], isDirectory }
}

function isReadable(repo: string | undefined, grants: Grants): boolean {
  return repo === undefined ? grants.hasSite : grants.mayRead(repo)
}

function baseOf({ segments }: RequestPath): readonly string[] {
  return repoOf(segments) === undefined ? [ROOT, ...segments] : segments
}

/** Whether a key is that of a file for servers. */
function isOwnFile(key: string): boolean {
  return (key.endsWith('.json') || key.endsWith(REDIRECTS_FILE)) && OWN_FILE.test(key)
}

/** Returns the key of the object that a path names. */
export function keyOf(path: RequestPath): string {
  const base = baseOf(path).join('/')
  return path.isDirectory ? `${base}/${INDEX}` : base
}
