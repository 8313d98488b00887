import { statSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { messageOf } from '../../lib/errors/message.ts'
import type { Logger } from '../../lib/log/logger.ts'
import { findModules } from '../classpath/project-layout.ts'
import type { Scan } from '../scan/scan.ts'
import type { Analysis } from '../lifecycle/analysis.ts'
import { DirectoryWatch } from './directory-watch.ts'

/** A build writes for a while: what it has written is read once nothing has come for this long … */
const QUIET_MS = 400
/** … or at last after this. */
const LONGEST_MS = 30_000

/** Folders by which build tools come to their classes and jars, below a module. */
const WAYS = [
  '.',
  'target',
  'target/dependency',
  'target/lib',
  'build',
  'build/classes',
  'build/classes/java',
  'build/classes/kotlin',
  'build/classes/groovy',
  'build/classes/scala',
  'out',
  'out/production',
  'out/test',
  'lib',
  'libs',
]
const STEP =
  /^(?:target|build|out|bin|lib|libs|dependency|classes|test-classes|production|test|main|java|kotlin|groovy|scala|scala-[\d.]+)$/
const DEFINITION = /^(?:pom\.xml|(?:build|settings)\.gradle(?:\.kts)?|gradle\.properties|gradle\.lockfile)$/

/** What `status` shows of it. */
interface WatchView {
  readonly directories: number
  readonly refreshes: number
  /** RFC 3339; null before the first. */
  readonly lastRefreshAt: string | null
  /** Why something is not watched. */
  readonly problem?: string
}

/** Keeps an analysis fresh: one refresh for each time that a build has written classes or jars. */
export class ProjectWatch {
  readonly #root: string
  readonly #analysis: Analysis
  readonly #logger: Logger
  readonly #directories: DirectoryWatch
  #timer: NodeJS.Timeout | undefined
  #firstMs: number | undefined
  #refreshing: Promise<void> | undefined
  #refreshes = 0
  #lastRefresh: Date | undefined
  #problem: string | undefined
  #isClosed = false

  constructor(root: string, analysis: Analysis, logger: Logger) {
    this.#root = root
    this.#analysis = analysis
    this.#logger = logger
    this.#directories = new DirectoryWatch(
      () => this.#changed(),
      (error) => this.#cannot(error),
    )
  }

  get view(): WatchView {
    return {
      directories: this.#directories.count,
      refreshes: this.#refreshes,
      lastRefreshAt: this.#lastRefresh?.toISOString() ?? null,
      ...(this.#problem !== undefined && { problem: this.#problem }),
    }
  }

  /** Watches what a scan has read. What changed before it was watched is read at once. */
  follow(scan: Scan): void {
    if (!this.#isClosed && this.#watchAll(scan)) this.#changed()
  }

  close(): void {
    this.#isClosed = true
    clearTimeout(this.#timer)
    this.#directories.close()
  }

  #watchAll({ snapshot }: Scan): boolean {
    let isMore = false
    const add = (...given: Parameters<DirectoryWatch['add']>): void => {
      if (this.#directories.add(...given)) isMore = true
    }
    for (const { path, classFolders } of findModules(this.#root)) {
      for (const folder of classFolders) add(folder, 'tree')
      for (const way of WAYS) add(join(path, way), isOfInterest)
    }
    const jars = new Map<string, Set<string>>()
    for (const { location, source } of snapshot.index.slices) {
      if (source === 'JDK') continue
      const [path = location] = location.split('!/')
      if (statSync(path, { throwIfNoEntry: false })?.isDirectory() === true) add(path, 'tree')
      else jars.set(dirname(path), (jars.get(dirname(path)) ?? new Set()).add(basename(path)))
    }
    for (const [folder, names] of jars) add(folder, (name) => names.has(name))
    return isMore
  }

  #changed(): void {
    if (this.#isClosed) return
    const nowMs = performance.now()
    this.#firstMs ??= nowMs
    clearTimeout(this.#timer)
    const waitMs = Math.min(QUIET_MS, Math.max(0, this.#firstMs + LONGEST_MS - nowMs))
    this.#timer = setTimeout(() => void this.#refresh(), waitMs).unref()
  }

  async #refresh(): Promise<void> {
    if (this.#refreshing !== undefined) {
      // It may have listed what has changed since.
      await this.#refreshing
      this.#changed()
      return
    }
    this.#firstMs = undefined
    this.#refreshing = this.#refreshOnce().finally(() => (this.#refreshing = undefined))
    await this.#refreshing
  }

  async #refreshOnce(): Promise<void> {
    try {
      // One that somebody has asked for may have begun before the change.
      if (this.#analysis.state.is === 'REFRESHING') await this.#analysis.refresh()
      const scan = await this.#analysis.refresh()
      this.#refreshes++
      this.#lastRefresh = new Date()
      this.follow(scan)
    } catch (error) {
      // The next change tries again, and the old index answers until then.
      this.#logger.warn({ why: messageOf(error) }, 'the project has changed and could not be read')
    }
  }

  #cannot(error: NodeJS.ErrnoException): void {
    const isLimit = error.code === 'ENOSPC' || error.code === 'EMFILE'
    const why = isLimit
      ? 'the system watches no more directories for this user; raise fs.inotify.max_user_watches'
      : messageOf(error)
    if (this.#problem === undefined) this.#logger.warn({ why }, 'not everything can be watched')
    this.#problem = why
  }
}

function isOfInterest(name: string): boolean {
  return STEP.test(name) || DEFINITION.test(name) || name.endsWith('.jar')
}
