import { join } from 'node:path'
import { ignore } from '../../lib/errors/ignore.ts'
import type { Logger } from '../../lib/log/logger.ts'
import type { IdlePool } from '../../lib/pool/idle-pool.ts'
import type { Confinement } from '../../lib/sandbox/confine.ts'
import { workerFile } from '../../lib/pool/worker-file.ts'
import type { Facts } from '../bytecode/facts.ts'
import { explainNoClasses } from '../classpath/project-layout.ts'
import type { AnalyzerConfig } from '../config.ts'
import { scanConfinement, storeDirIn } from '../confinement.ts'
import { fault } from '../errors.ts'
import { BuildToolCache } from '../project/build-tool-cache.ts'
import { type ClassPath, resolveClassPath } from '../project/class-path.ts'
import { Snapshot } from '../query/snapshot.ts'
import { FactsCache } from '../index/facts-cache.ts'
import type { DropTask } from './drop-slices.ts'
import type { HashClassesTask } from './hash-classes.ts'
import { ArchiveHashes } from './archive-hashes.ts'
import type { EntryListing, ListTask } from './list-entry.ts'
import { type EntryTask, Quarantine } from '../index/quarantine.ts'
import type { RefreshedEntry, RefreshTask } from './refresh-entry.ts'
import { IndexBuilder, type ProjectIndex } from '../index/project-index.ts'
import type { ReadReport, ReadTask } from './read-slices.ts'
import { repairStore, setAside } from '../index/repair-store.ts'
import { RetiredSlices } from '../index/retired-slices.ts'
import {
  entriesOf,
  hasManyClasses,
  isHuge,
  keysOf,
  type IncompleteEntry,
  type ListedEntry,
  outermostPath,
} from './listed-entry.ts'
import { ProgressCounter } from './scan-progress.ts'
import { createScanPool } from './scan-pool.ts'
import type { Scan } from './scan.ts'
import { stampIfThere } from '../index/slices.ts'
import { isDamage, SliceStore } from '../index/store.ts'
import type { StringPool } from '../index/string-pool.ts'

/** Slices per read task: enough to keep a thread busy, few enough to balance the work. */
const SLICES_A_TASK = 8
/** Maximum attempts to read class files that change meanwhile. */
const ATTEMPTS = 3

/** Listing of a skipped entry. */
const EMPTY_LISTING: EntryListing = { slices: [], problems: [] }

/** Reads a project's class path into the store, and loads the index from there. */
export class ProjectScanner {
  readonly #config: AnalyzerConfig
  readonly #root: string
  readonly #logger: Logger
  /** Reads class files and writes the store. */
  readonly #pool: IdlePool
  readonly #closed = new AbortController()
  readonly #storeDir: string
  readonly #hashes: ArchiveHashes
  /** Last listing of each class path entry. */
  readonly #listings = new Map<string, EntryListing>()
  readonly #buildTool: BuildToolCache
  readonly #quarantined: Quarantine
  readonly #facts = new FactsCache(
    (key) => this.#readFacts(key),
    () => this.#releaseMemory(),
  )
  /**
   * Slices whose facts could not be read: the next scan reads them again, and checks the facts of all others.
   */
  readonly #damaged = new Set<string>()
  readonly #retired = new RetiredSlices()
  /** Paths of the last class path. */
  #entries: readonly string[] = []
  #release = 8
  /** Resolves when no huge archive is being listed or read. */
  #exclusive: Promise<unknown> = Promise.resolve()
  #isInDoubt = false
  /** Progress of a running scan. */
  readonly progress = new ProgressCounter()
  #store: SliceStore | undefined
  /** Names of the last scan. */
  #names: StringPool | undefined

  constructor(
    config: AnalyzerConfig,
    root: string,
    logger: Logger,
    pool = createScanPool(logger, scanConfinement({ ...config, root })),
  ) {
    this.#config = config
    this.#root = root
    this.#logger = logger
    this.#storeDir = storeDirIn(config.cacheDir)
    this.#pool = pool
    this.#quarantined = new Quarantine(logger)
    this.#hashes = new ArchiveHashes(join(config.cacheDir, 'archive-hashes.json'))
    this.#buildTool = new BuildToolCache(join(config.cacheDir, 'class-paths'))
  }

  /**
   * Scans the project.
   *
   * @param before last scan, whose unchanged data is reused
   */
  async scan(before: Scan | undefined): Promise<Scan> {
    try {
      return await this.#scan(before)
    } catch (error) {
      if (!isDamage(error)) throw error
      this.#store?.distrust()
      return await this.#scan(before)
    } finally {
      this.progress.end()
    }
  }

  async #scan(before: Scan | undefined): Promise<Scan> {
    const startMs = performance.now()
    this.progress.begin('resolving')
    const opening = this.#openStore()
    opening.catch(ignore('it is awaited below'))
    const { signal } = this.#closed
    const classPath = await resolveClassPath(this.#config, this.#root, this.#logger, signal, this.#buildTool)
    this.#allowReading(classPath)
    this.progress.begin('listing')
    await this.#hashes.addLarge(classPath.entries, this.#pool)
    const isSame = await opening
    this.#quarantined.releaseChanged()
    this.#isInDoubt = this.#damaged.size > 0
    const quarantined = this.#quarantined.paths
    const reports: ReadReport[] = []
    const known = isSame ? before?.snapshot.index : undefined
    const builder = new IndexBuilder(known)
    const list = () => this.#list(classPath, known, reports)
    let listedEntries = await list()
    let incomplete = this.#incomplete(listedEntries, builder)
    for (let attempt = 1; incomplete.length > 0; attempt++) {
      if (attempt > ATTEMPTS) {
        throw fault(
          'SCAN_FAILED',
          'class files keep changing while they are read; refresh when the build is done',
        )
      }
      reports.push(...(await this.#read(incomplete, classPath.release, builder)))
      incomplete = this.#incomplete(listedEntries, builder)
      if (incomplete.length === 0) break
      // Some changed since they were listed.
      listedEntries = await list()
      incomplete = this.#incomplete(listedEntries, builder)
    }
    // Writing to a damaged store crashes the process for any entry: the store is replaced before an
    // entry is quarantined.
    if (this.#isInDoubt && this.#quarantined.releaseSince(quarantined)) {
      await this.#dropStore()
      return this.#scan(undefined)
    }
    await this.#hashes.save()
    await this.#dropRetired(listedEntries)
    const index = builder.build(listedEntries.flatMap(entriesOf))
    const snapshot = new Snapshot(index, (key) => this.#facts.get(key))
    this.#names = index.names
    this.#facts.releaseSoon()
    return {
      snapshot,
      classpathResolvedBy: classPath.resolvedBy,
      classpathEntryCount: classPath.entries.length,
      durationMs: Math.round(performance.now() - startMs),
      scannedAt: new Date(),
      readCount: reports.reduce((sum, { classCount }) => sum + classCount, 0),
      problem: index.ofProject().length === 0 ? explainNoClasses(this.#root, classPath.named) : undefined,
      diagnostics: [
        ...listedEntries.flatMap(({ listing }) => listing.problems),
        ...reports.flatMap(({ problems }) => problems),
        ...this.#quarantined.paths.map((path) => ({
          path,
          message: 'reading it crashed the process twice; it is skipped until it changes',
        })),
      ],
    }
  }

  /** Called before a query uses a scan. */
  used(): void {
    this.#facts.touch()
  }

  async close(): Promise<void> {
    this.#closed.abort(fault('SCAN_FAILED', 'the server is stopping'))
    await this.#pool.close()
    this.#facts.clear()
    await this.#store?.close()
  }

  async #list(
    { entries, release }: ClassPath,
    before: ProjectIndex | undefined,
    reports: ReadReport[],
  ): Promise<readonly ListedEntry[]> {
    const indexed = Map.groupBy(before?.slices ?? [], ({ location }) => outermostPath(location))
    const changed = entries.filter(({ path }) => !this.#isUnchanged(path))
    const tasks = changed.map(({ path }) => ({
      entry: this.#listTask(path, release),
      indexedKeys: indexed.get(path)?.map(({ key }) => key),
      storeDir: this.#storeDir,
    }))
    const refreshed = await this.#runAll(
      tasks,
      // With `isAlone` it only lists, so that crashes while reading occur in #read.
      (task, isAlone): Promise<RefreshedEntry> => {
        const list = (): Promise<RefreshedEntry> =>
          this.#inPool('analyzer-list', { ...task, mayRead: !isAlone } satisfies RefreshTask)
        return isHuge(task.entry.path) ? this.#runExclusively(list) : list()
      },
    )
    for (const [i, { path }] of changed.entries()) {
      const { listing = EMPTY_LISTING, report } = refreshed[i] ?? {}
      this.#listings.set(path, listing)
      if (listing.hash !== undefined) this.#hashes.add(listing.hash)
      if (report !== undefined) reports.push(report)
    }
    return entries.map((entry) => ({ ...entry, listing: this.#listings.get(entry.path) ?? EMPTY_LISTING }))
  }

  /** Whether an archive is unchanged; folders have no stamp. */
  #isUnchanged(path: string): boolean {
    const known = this.#listings.get(path)
    return known?.stamp !== undefined && known.stamp === stampIfThere(path)
  }

  #listTask(path: string, release: number): ListTask {
    return { path, release, hash: this.#hashes.find(stampIfThere(path)) }
  }

  /**
   * Returns entries with slices whose digests are neither in memory nor in the store. A damaged digest counts
   * as missing, and is read again.
   */
  #incomplete(listedEntries: readonly ListedEntry[], builder: IndexBuilder): readonly IncompleteEntry[] {
    return listedEntries
      .map((entry) => ({ ...entry, keys: keysOf(entry).filter((key) => !this.#load(key, builder)) }))
      .filter(({ path, keys }) => keys.length > 0 && !this.#quarantined.has(path))
  }

  /** Loads a digest into the builder. Returns false if it is missing or damaged. */
  #load(key: string, builder: IndexBuilder): boolean {
    if (this.#damaged.has(key) || (this.#isInDoubt && !this.#openedStore().facts(key))) return false
    return builder.has(key) || this.#openedStore().digest(key, (digest) => builder.add(key, digest))
  }

  async #read(
    incomplete: readonly IncompleteEntry[],
    release: number,
    builder: IndexBuilder,
  ): Promise<readonly ReadReport[]> {
    const tasks = incomplete.flatMap(({ path, keys, listing }) => {
      const hasMany = hasManyClasses(listing)
      const size = hasMany ? keys.length : SLICES_A_TASK
      return Array.from({ length: Math.ceil(keys.length / size) }, (_, part) => ({
        entry: this.#listTask(path, release),
        keys: keys.slice(part * size, (part + 1) * size),
        storeDir: this.#storeDir,
        hasMany,
      }))
    })
    this.progress.beginReading(incomplete)
    const reports = await this.#runAll(tasks, ({ hasMany, ...task }) => {
      const read = (): Promise<ReadReport> => this.#readTask(task, builder)
      return hasMany ? this.#runExclusively(read) : read()
    })
    return reports.filter((report) => report !== undefined)
  }

  async #readTask(task: ReadTask, builder: IndexBuilder): Promise<ReadReport> {
    const report = await this.#inPool<ReadReport>('analyzer-read', task)
    this.progress.addRead(task.entry.path, task.keys)
    for (const key of report.stored) {
      this.#damaged.delete(key)
      // Loads it while others are still being read.
      this.#load(key, builder)
    }
    return report
  }

  /**
   * Runs tasks for huge archives one at a time, because their lists take much of the memory that all threads
   * share.
   */
  #runExclusively<Result>(work: () => Promise<Result>): Promise<Result> {
    const result = this.#exclusive.then(work)
    this.#exclusive = result.catch(ignore('the caller of the turn gets it'))
    return result
  }

  /** Hashes class files at locations of the last scan, in the process that reads them. */
  hashClasses(classes: HashClassesTask['classes']): Promise<readonly (string | null)[]> {
    const task: HashClassesTask = { classes, release: this.#release }
    return classes.length === 0 ? Promise.resolve([]) : this.#inPool('analyzer-hash-classes', task)
  }

  /** Lists what archives register, in the process that reads them. */
  listServices(paths: readonly string[]): Promise<readonly (readonly string[])[]> {
    return paths.length === 0 ? Promise.resolve([]) : this.#inPool('analyzer-list-services', { paths })
  }

  async #inPool<Result>(worker: string, task: unknown): Promise<Result> {
    return (await this.#pool.run(workerFile(worker), task)) as Result
  }

  /** Deletes retired slices. A failure, for example on a full disk, only wastes space. */
  async #dropRetired(listedEntries: readonly ListedEntry[]): Promise<void> {
    const inFolders = listedEntries.filter(({ listing }) => listing.stamp === undefined).flatMap(keysOf)
    const keys = this.#retired.next(inFolders)
    if (keys.length === 0) return
    const task: DropTask = { storeDir: this.#storeDir, keys }
    await this.#inPool('analyzer-drop', task).catch((error: unknown) => this.#afterFailure(error))
  }

  /** Runs tasks as `Quarantine.runAll` does. */
  async #runAll<Task extends EntryTask, Result>(
    tasks: readonly Task[],
    run: (task: Task, isAlone: boolean) => Promise<Result>,
  ): Promise<readonly (Result | undefined)[]> {
    try {
      return await this.#quarantined.runAll(tasks, run)
    } catch (error) {
      throw await this.#afterFailure(error)
    }
  }

  /** Replaces the process that writes, because lmdb's memory may be corrupt after a failed write. */
  async #afterFailure(error: unknown): Promise<unknown> {
    await this.#pool.end()
    return error
  }

  /**
   * Opens the store, first in another process. A damaged store is moved aside. Returns whether data of the
   * last scan still exists.
   */
  async #openStore(): Promise<boolean> {
    if (this.#store?.isWhole() === true) return true
    await this.#store?.close()
    this.#store = undefined
    const check = (): Promise<unknown> => {
      // The directory may have been replaced.
      this.#pool.confine(this.#confinement())
      return this.#pool.run(workerFile('analyzer-check'), { storeDir: this.#storeDir })
    }
    await repairStore(this.#storeDir, check, (error) => {
      this.#closed.signal.throwIfAborted()
      this.#logger.warn({ err: error, directory: this.#storeDir }, 'the index is damaged and will be rebuilt')
    })
    this.#store = SliceStore.open(this.#storeDir, 'read')
    return false
  }

  /** Moves aside a store that crashes the processes that write to it; the next scan creates another. */
  async #dropStore(): Promise<void> {
    this.#logger.warn(
      { directory: this.#storeDir },
      'the index crashes the processes that write to it and will be rebuilt',
    )
    await this.#pool.end()
    await this.#store?.close()
    this.#store = undefined
    setAside(this.#storeDir)
    this.#damaged.clear()
  }

  /** Lets the pool process read class path entries outside the project and local repositories. */
  #allowReading({ entries, release }: ClassPath): void {
    this.#entries = entries.map(({ path }) => path)
    this.#release = release
    this.#pool.confine(this.#confinement())
  }

  #confinement(): Confinement {
    return scanConfinement({ ...this.#config, root: this.#root }, this.#entries)
  }

  #readFacts(key: string): Facts {
    const facts = this.#openedStore().facts(key)
    if (facts !== undefined) return facts
    this.#damaged.add(key)
    throw fault('SCAN_NOT_READY', 'the index is damaged; run "analyzer refresh" to repair it')
  }

  /** Releases memory that an idle server does not need, including V8 garbage if `gc` is exposed. */
  #releaseMemory(): void {
    void this.#store?.close()
    this.#names?.forget()
    globalThis.gc?.({ type: 'major', execution: 'sync', flavor: 'last-resort' })
  }

  #openedStore(): SliceStore {
    if (this.#store === undefined) throw fault('SCAN_NOT_READY', 'the index is not open yet')
    return this.#store
  }
}
