import { statSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { messageOf } from '../../lib/errors/message.ts'
import { PathWatch } from '../../lib/fs/path-watch.ts'
import type { Logger } from '../../lib/log/logger.ts'
import { findModules, isArchive, isBuildFile } from '../classpath/project-layout.ts'
import type { Scan } from '../scan/scan.ts'
import type { Analysis } from '../lifecycle/analysis.ts'

/** A build writes for a while: changes are read after so long without another one … */
const QUIET_MS = 400
/** … or at the latest after this. */
const LONGEST_MS = 30_000

/** Folders that contain class folders and jars of build tools, relative to a module. */
const OUTPUT_PARENTS = [
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

/** State of the watch for `status`. */
interface WatchView {
  readonly directories: number
  readonly refreshes: number
  /** RFC 3339; null before the first. */
  readonly lastRefreshAt: string | null
  /** Reason why something is not watched. */
  readonly problem?: string
}

/** Keeps an analysis up to date: refreshes once each time a build writes classes or jars. */
export class ProjectWatch {
  readonly #root: string
  readonly #analysis: Analysis
  readonly #logger: Logger
  readonly #paths: PathWatch
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
    this.#paths = new PathWatch(
      () => this.#changed(),
      (why) => this.#cannot(why),
      { followsLinks: false },
    )
  }

  get view(): WatchView {
    return {
      directories: this.#paths.count,
      refreshes: this.#refreshes,
      lastRefreshAt: this.#lastRefresh?.toISOString() ?? null,
      ...(this.#problem !== undefined && { problem: this.#problem }),
    }
  }

  /**
   * Watches what a scan has read. Refreshes if there was something new to watch, because it may have changed
   * before.
   */
  follow(scan: Scan): void {
    if (!this.#isClosed && this.#watchAll(scan)) this.#changed()
  }

  close(): void {
    this.#isClosed = true
    clearTimeout(this.#timer)
    this.#paths.close()
  }

  #watchAll({ snapshot }: Scan): boolean {
    let isMore = false
    const add = (path: string, accepts?: (name: string) => boolean): void => {
      const extent = {
        isTree: accepts === undefined,
        accepts: (each: string) => accepts?.(basename(each)) ?? true,
      }
      if (this.#paths.add(path, extent)) isMore = true
    }
    for (const { path, classFolders } of findModules(this.#root)) {
      for (const folder of classFolders) add(folder)
      for (const folder of OUTPUT_PARENTS) add(join(path, folder), isOfInterest)
    }
    const jars = new Map<string, Set<string>>()
    for (const { location, source } of snapshot.index.slices) {
      if (source === 'JDK') continue
      const [path = location] = location.split('!/')
      if (statSync(path, { throwIfNoEntry: false })?.isDirectory() === true) add(path)
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
      // It may have missed the latest change.
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
      // A requested refresh may have started before the change.
      if (this.#analysis.state.is === 'REFRESHING') await this.#analysis.refresh()
      const scan = await this.#analysis.refresh()
      this.#refreshes++
      this.#lastRefresh = new Date()
      this.follow(scan)
    } catch (error) {
      // The next change tries again; queries use the previous index until then.
      this.#logger.warn({ why: messageOf(error) }, 'the project changed but could not be read')
    }
  }

  #cannot(why: string): void {
    if (this.#problem === undefined) this.#logger.warn({ why }, 'some directories cannot be watched')
    this.#problem = why
  }
}

function isOfInterest(name: string): boolean {
  return STEP.test(name) || isBuildFile(name) || isArchive(name)
}
