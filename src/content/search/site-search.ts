import { createHash, randomUUID } from 'node:crypto'
import { createWriteStream, mkdirSync } from 'node:fs'
import { readdir, rm, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { pipeline } from 'node:stream/promises'
import type { Clock } from '../../lib/clock/clock.ts'
import { isFault } from '../../lib/errors/fault.ts'
import { ignore } from '../../lib/errors/ignore.ts'
import type { Logger } from '../../lib/log/logger.ts'
import { IdlePool } from '../../lib/pool/idle-pool.ts'
import { workerFile } from '../../lib/pool/worker-file.ts'
import { type Grants, visibleRepos } from '../access/grants.ts'
import { fault } from '../errors.ts'
import { formatPath } from '../page/request-path.ts'
import type { SiteObjects } from '../publication/site-objects.ts'
import type { Repo } from '../repo/meta.ts'
import { mapConcurrently, type RepoList } from '../repo/repo-list.ts'
import type { Store } from '../store/store.ts'
import type { Mark } from './fold.ts'
import type { FoundPage, IndexProblem, ListedPage } from './search-database.ts'
import type { SearchResponses, SearchRequest } from './search-task.ts'
import { foldersOf, keyOf, type Target, targetsOf } from './targets.ts'

/** A search over the site. */
export interface SearchQuery {
  readonly words: string
  readonly limit: number
  /** Number of hits to skip: those of the previous pages. */
  readonly offset: number
  /** Searches only this repository. */
  readonly repo?: string | undefined
  /** Searches this version, instead of the newest, of every repository that has it. */
  readonly version?: string | undefined
}

/** A matching page. */
export interface Hit {
  readonly repo: string
  /** Undefined if the repository has no versions. */
  readonly version: string | undefined
  /** Path on this site, to the section that contains the match. */
  readonly url: string
  readonly title: string
  /** Plain text; escape it when rendering. */
  readonly excerpt: string
  readonly marks: readonly Mark[]
}

/** A repository or version that was not searched. */
interface Unsearched {
  readonly repo: string
  readonly version: string | undefined
  readonly reason: Problem
}

/** Reason why an index was not searched; `no_index` if none was published, `indexing` while it is first read. */
type Problem = IndexProblem | 'no_index' | 'indexing' | 'unavailable'

/** Result of a search. */
export interface SearchResults {
  readonly hits: readonly Hit[]
  /** Total number of hits. */
  readonly total: number
  readonly unsearched: readonly Unsearched[]
}

/** A list of pages. */
export interface PageQuery {
  readonly repo: string
  /** Default: the newest. */
  readonly version?: string | undefined
  readonly limit: number
  readonly offset: number
}

/** Indexed pages of a repository or version. */
export interface PageList {
  readonly version: string | undefined
  /** Segments of the path of the folder that contains the pages. */
  readonly folder: readonly string[]
  readonly pages: readonly ListedPage[]
  readonly total: number
  /** Reason why no pages are listed. */
  readonly problem: Problem | undefined
}

/** Settings of the search. */
export interface SearchSettings {
  readonly ttlMs: number
  readonly maxBytes: number
  /** Folder of the database. */
  readonly dir: string
  /** Distinguishes stores: servers of several stores may share the folder. */
  readonly storeId: string
}

const PARALLEL = 8
/** One can read an index while the other searches. */
const THREADS = 2
const THREAD_HEAP_MB = 128
const IDLE_MS = 600_000
const MAX_WORDS_LENGTH = 200
/** Maximum parallel searches; more would only wait for each other. */
const MAX_SEARCHES = 64
const SEARCH_MS = 10_000
/** Maximum wait of a search for an index that was never read, and for an update of one that was. */
const [FIRST_WAIT_MS, UPDATE_WAIT_MS] = [10_000, 2_000]
/** How long a failed store is left alone. */
const REST_MS = 5_000
/** An older partial download was left by a process that exited. */
const ABANDONED_MS = 3_600_000

/** State of an index. */
interface IndexState {
  readonly etag: string | undefined
  readonly problem: Problem | undefined
  /** Monotonic time of the last request to the store. */
  readonly checkedMs: number
}

/**
 * Searches the newest version of every repository, or a requested one. Indexes are read into a database when they are
 * first needed and after they have changed; reading and searching run in worker threads.
 */
export class SiteSearch {
  readonly #store: Store
  readonly #objects: Pick<SiteObjects, 'locate'>
  readonly #repos: RepoList
  readonly #clock: Clock
  readonly #logger: Logger
  readonly #settings: SearchSettings
  readonly #file: string
  readonly #pool: IdlePool
  readonly #indexes = new Map<string, IndexState>()
  readonly #checking = new Map<string, Promise<void>>()
  #opened: Promise<void> | undefined
  #listed: ReadonlyMap<string, Repo> | undefined
  #running = 0

  constructor(
    store: Store,
    objects: Pick<SiteObjects, 'locate'>,
    repos: RepoList,
    clock: Clock,
    logger: Logger,
    settings: SearchSettings,
  ) {
    this.#store = store
    this.#objects = objects
    this.#repos = repos
    this.#clock = clock
    this.#logger = logger
    this.#settings = settings
    const id = createHash('sha256').update(settings.storeId).digest('hex').slice(0, 16)
    this.#file = join(settings.dir, `${id}.db`)
    this.#pool = new IdlePool(
      { name: 'content-search', maxThreads: THREADS, maxHeapMb: THREAD_HEAP_MB, logger },
      IDLE_MS,
    )
  }

  /**
   * Returns the best hits of a query in the repositories that the reader may read; nothing depends on others.
   *
   * @throws SEARCH_BUSY, or STORE_UNAVAILABLE when the list of repositories is unavailable
   */
  async find({ words, limit, offset, repo, version }: SearchQuery, grants: Grants): Promise<SearchResults> {
    const query = words.slice(0, MAX_WORDS_LENGTH).trim()
    if (query === '') return { hits: [], total: 0, unsearched: [] }
    return this.#limited(async () => {
      const repos = await this.#repos.read()
      const targets = targetsOf(visibleRepos(repos, grants), repo, version)
      await this.#prepare(targets, repos)
      const asked = { query, limit, offset }
      const { isCurrent, ...found } = await this.#search(targets, asked)
      if (isCurrent) return found
      await this.#prepare(targets, repos)
      const { isCurrent: _isCurrent, ...again } = await this.#search(targets, asked)
      return again
    })
  }

  /**
   * Lists the indexed pages of the newest version of a repository, or of a requested one. Returns undefined if the
   * reader may not read the repository, or if it or the version does not exist.
   *
   * @throws SEARCH_BUSY, or STORE_UNAVAILABLE when the list of repositories is unavailable
   */
  async list(query: PageQuery, grants: Grants): Promise<PageList | undefined> {
    const { repo, version, limit, offset } = query
    return this.#limited(async () => {
      const repos = await this.#repos.read()
      const [target] = targetsOf(visibleRepos(repos, grants), repo, version)
      if (target === undefined) return undefined
      await this.#prepare([target], repos)
      const { key, folder } = target
      const none = { version: target.version, folder, pages: [], total: 0 }
      if (!this.#isReadable(key)) return { ...none, problem: this.#indexes.get(key)?.problem ?? 'indexing' }
      const listed = await this.#run({ do: 'pages', key, limit, offset }, SEARCH_MS)
      if (listed !== undefined) return { ...none, ...listed, problem: undefined }
      this.#indexes.delete(key)
      return { ...none, problem: 'indexing' }
    })
  }

  /** Makes the next search revalidate every index. */
  purge(): void {
    for (const [key, state] of this.#indexes)
      this.#indexes.set(key, { ...state, checkedMs: Number.NEGATIVE_INFINITY })
  }

  close(): Promise<void> {
    return this.#pool.close()
  }

  async #limited<T>(work: () => Promise<T>): Promise<T> {
    if (this.#running >= MAX_SEARCHES)
      throw fault('SEARCH_BUSY', 'too many searches are running; try again in a moment')
    this.#running++
    try {
      return await work()
    } finally {
      this.#running--
    }
  }

  async #search(
    targets: readonly Target[],
    asked: { readonly query: string; readonly limit: number; readonly offset: number },
  ): Promise<SearchResults & { readonly isCurrent: boolean }> {
    const byKey = new Map(targets.map((target) => [target.key, target]))
    const keys = targets.map(({ key }) => key).filter((key) => this.#isReadable(key))
    const unsearched = new Map<string, Problem>()
    for (const { key } of targets) {
      const { problem, etag } = this.#indexes.get(key) ?? {}
      if (problem !== undefined || etag === undefined) unsearched.set(key, problem ?? 'indexing')
    }
    let found: SearchResponses['find'] = { pages: [], total: 0, missing: [] }
    try {
      if (keys.length > 0) found = await this.#run({ do: 'find', keys, ...asked }, SEARCH_MS)
    } catch (error) {
      this.#logger.error({ err: error }, 'a search failed')
      for (const key of keys) unsearched.set(key, 'unavailable')
    }
    // The file was damaged and rebuilt, here or by another process.
    for (const key of found.missing) {
      this.#indexes.delete(key)
      unsearched.set(key, 'indexing')
    }
    return {
      isCurrent: found.missing.length === 0,
      hits: found.pages.flatMap((page) => {
        const target = byKey.get(page.key)
        return target === undefined ? [] : [toHit(target, page)]
      }),
      total: found.total,
      unsearched: [...unsearched].flatMap(([key, reason]) => {
        const target = byKey.get(key)
        return target === undefined ? [] : [{ repo: target.repo, version: target.version, reason }]
      }),
    }
  }

  #isReadable(key: string): boolean {
    const { etag, problem } = this.#indexes.get(key) ?? {}
    return etag !== undefined && problem === undefined
  }

  /** Updates indexes, as far as possible within the time that a reader waits. */
  async #prepare(targets: readonly Target[], repos: ReadonlyMap<string, Repo>): Promise<void> {
    await (this.#opened ??= this.#open())
    this.#forgetOld(repos)
    const due = targets.filter(({ key }) => !this.#isFresh(key))
    if (due.length === 0) return
    const isNew = due.some(({ key }) => this.#indexes.get(key)?.etag === undefined)
    const checked = mapConcurrently(PARALLEL, due, ({ key }) => this.#check(key))
    await within(isNew ? FIRST_WAIT_MS : UPDATE_WAIT_MS, checked)
  }

  #isFresh(key: string): boolean {
    const state = this.#indexes.get(key)
    if (state === undefined) return false
    const limitMs = state.problem === 'unavailable' ? REST_MS : this.#settings.ttlMs
    return this.#clock.nowMs() - state.checkedMs < limitMs
  }

  /** Loads the list of indexes that this or another process has read. */
  async #open(): Promise<void> {
    try {
      mkdirSync(this.#settings.dir, { recursive: true, mode: 0o700 })
      await this.#sweep()
      for (const { key, etag, problem } of await this.#run({ do: 'list' }))
        this.#indexes.set(key, { etag, problem: problem ?? undefined, checkedMs: Number.NEGATIVE_INFINITY })
    } catch (error) {
      this.#opened = undefined
      this.#logger.error({ err: error, dir: this.#settings.dir }, 'the search index cannot be opened')
    }
  }

  async #sweep(): Promise<void> {
    for (const name of await readdir(this.#settings.dir)) {
      if (!name.endsWith('.part')) continue
      const file = join(this.#settings.dir, name)
      const { mtimeMs } = await stat(file).catch(
        ignore('its writer has renamed or deleted it', { mtimeMs: Infinity }),
      )
      if (mtimeMs < this.#clock.wallMs() - ABANDONED_MS) await rm(file, { force: true })
    }
  }

  /** Removes the indexes of unpublished repositories. */
  #forgetOld(repos: ReadonlyMap<string, Repo>): void {
    if (repos === this.#listed) return
    this.#listed = repos
    const published = new Set([...repos.values()].flatMap(foldersOf).map((folder) => keyOf(folder)))
    const keys = [...this.#indexes.keys()].filter((key) => !published.has(key))
    if (keys.length === 0) return
    for (const key of keys) this.#indexes.delete(key)
    this.#run({ do: 'forget', keys }).catch((error: unknown) =>
      this.#logger.warn({ err: error }, 'old search indexes were not removed'),
    )
  }

  /** Revalidates an index; at most one request at a time for each. */
  #check(key: string): Promise<void> {
    const running = this.#checking.get(key)
    if (running !== undefined) return running
    const checking = this.#reload(key).finally(() => this.#checking.delete(key))
    this.#checking.set(key, checking)
    return checking
  }

  async #reload(key: string): Promise<void> {
    const before = this.#indexes.get(key)
    const record = (etag: string | undefined, problem: Problem | undefined, error?: unknown): void => {
      this.#indexes.set(key, { etag, problem, checkedMs: this.#clock.nowMs() })
      if (problem !== undefined && problem !== before?.problem)
        this.#logger.warn({ key, reason: problem, err: error }, 'a search index cannot be searched')
    }
    try {
      const at = await this.#objects.locate(key)
      const opened = await this.#store.open(at, { ifNoneMatch: before?.etag })
      if (opened === 'unchanged') return record(before?.etag, before?.problem)
      if (typeof opened === 'string') {
        if (before?.etag !== undefined) await this.#run({ do: 'forget', keys: [key] })
        return record(undefined, 'no_index')
      }
      const from = join(this.#settings.dir, `${randomUUID()}.part`)
      try {
        await pipeline(opened.body, createWriteStream(from, { mode: 0o600 }))
        const { etag, problem } = await this.#run({ do: 'replace', key, etag: opened.etag, from })
        record(etag, problem ?? undefined)
      } finally {
        await rm(from, { force: true })
      }
    } catch (error) {
      // The previous content remains searchable.
      record(before?.etag, before?.etag === undefined ? 'unavailable' : before.problem, error)
      if (!isFault(error) || error.code !== 'STORE_UNAVAILABLE')
        this.#logger.error({ err: error, key }, 'reading a search index failed')
    }
  }

  async #run<Question extends SearchRequest>(
    question: Question,
    timeoutMs?: number,
  ): Promise<SearchResponses[Question['do']]> {
    const maxBytes = Math.floor(this.#settings.maxBytes / THREADS)
    const answer = await this.#pool.run(
      workerFile('content-search'),
      { ...question, file: this.#file, maxBytes },
      timeoutMs === undefined ? {} : { timeoutMs },
    )
    return answer as SearchResponses[Question['do']]
  }
}

function toHit({ repo, version, folder }: Target, { path, title, excerpt, anchor }: FoundPage): Hit {
  const page = formatPath([...folder, ...path.split('/')], false).replace(/\/index\.html$/, '/')
  const url = anchor === undefined ? page : `${page}#${encodeURIComponent(anchor)}`
  return { repo, version, url, title, excerpt: excerpt.text, marks: excerpt.marks }
}

/** Waits a limited time for work, which continues afterwards. */
async function within(ms: number, work: Promise<void>): Promise<void> {
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<void>((resolve) => (timer = setTimeout(resolve, ms)))
  try {
    await Promise.race([work, late])
  } finally {
    clearTimeout(timer)
  }
}
