import type { Logger } from '../../lib/log/logger.ts'
import { IdlePool } from '../../lib/pool/idle-pool.ts'
import type { PoolOptions } from '../../lib/pool/pool.ts'
import type { Confinement } from '../../lib/sandbox/confine.ts'
import { workerFile } from '../../lib/pool/worker-file.ts'
import type { AnalyzerConfig } from '../config.ts'
import {
  decompilerConfinement,
  localRepositories,
  type ReadLocations,
  textConfinement,
  textsDirIn,
} from '../confinement.ts'
import { fault } from '../errors.ts'
import { outermostPath } from '../scan/listed-entry.ts'
import type { Scan } from '../scan/scan.ts'
import type { Source } from '../classpath/source.ts'
import { findJvm } from '../project/find-jvm.ts'
import type { Snapshot } from '../query/snapshot.ts'
import { type ClassLocation, locateClass } from './java/locate-class.ts'
import type { Decompiled, VineflowerCommand } from './decompile/decompile-protocol.ts'
import { Decompiler } from './decompile/decompiler.ts'
import type { Extracted, ExtractRequest } from './java/extract-text.ts'
import type { FoundText, SourceOrigin, TextResult, TextRequest } from './archive/text-request.ts'
import { sourceArchivesBeside } from './archive/library-text.ts'
import type { Language } from './archive/source-text.ts'

const IDLE_MS = 60_000
const FIND_MS = 30_000
const THREAD_HEAP_MB = 512

/** Creates the pool that finds and parses source texts. */
export function createTextPool(logger: PoolOptions['logger'], confinement: Confinement): IdlePool {
  const options = { name: 'analyzer-source', maxThreads: 2, maxHeapMb: THREAD_HEAP_MB, confinement }
  return new IdlePool({ ...options, ...(logger !== undefined && { logger }) }, IDLE_MS)
}

/** Options for the text of a class. */
export interface TextOptions {
  readonly language: Language | undefined
  readonly allowsDecompilation: boolean
  /** Whether to decompile again instead of using the cache. */
  readonly isFresh: boolean
}

/** Text of a class from any origin. */
export interface ClassText extends Omit<FoundText, 'origin' | 'filePath'> {
  readonly fqn: string
  readonly classLocation: ClassLocation
  /** Null for a decompiled text. */
  readonly filePath: string | null
  readonly origin: SourceOrigin
  readonly mavenCoordinates: string | null
}

/** A class and its source, if any, before decompiling. */
export interface ClassOrigin {
  readonly id: number
  readonly fqn: string
  readonly source: Source
  readonly location: string
  readonly classLocation: ClassLocation
  readonly found: TextResult
}

/** Finds the texts of classes. Archives and texts are read in separate processes, which start on demand. */
export class SourceService {
  readonly #config: AnalyzerConfig
  readonly #root: string
  readonly #pool: IdlePool
  readonly #decompiler: Decompiler

  constructor(config: AnalyzerConfig, root: string, logger: Logger) {
    this.#config = config
    this.#root = root
    const { memoryLimitBytes, timeLimitMs } = config.source
    this.#pool = createTextPool(logger, textConfinement(this.#locations, []))
    this.#decompiler = new Decompiler({
      memoryMb: Math.ceil(memoryLimitBytes / 2 ** 20),
      timeoutMs: timeLimitMs,
      logger,
    })
  }

  async close(): Promise<void> {
    this.#decompiler.close()
    await this.#pool.close()
  }

  async find({ snapshot }: Scan, fqn: string, language: Language | undefined): Promise<ClassOrigin> {
    const id = snapshot.getClass(fqn)
    const classLocation = locateClass(snapshot, id)
    const { source, location } = snapshot.index.sliceOf(id)
    const question: TextRequest = {
      root: this.#root,
      source,
      location,
      outermost: classLocation.outermost,
      sourceFile: classLocation.sourceFile,
      language,
      repositories: localRepositories(),
    }
    this.#pool.confine(textConfinement(this.#locations, classPathWithSources(snapshot)))
    const found = (await this.#pool.run(workerFile('analyzer-find-text'), question, {
      timeoutMs: FIND_MS,
    })) as TextResult
    return { id, fqn: snapshot.fqnOf(id), source, location, classLocation, found }
  }

  /**
   * Returns the source that was found, else the decompiled text.
   *
   * @throws FILE_NOT_FOUND, LIBRARY_CLASS and JDK_CLASS when there is no source and decompiling is not
   * allowed; DECOMPILATION_FAILED, DECOMPILATION_TIMEOUT
   */
  async text(snapshot: Snapshot, origin: ClassOrigin, options: TextOptions): Promise<ClassText> {
    const { fqn, classLocation, location, found } = origin
    const { mavenCoordinates } = found
    if (found.found !== undefined) return { fqn, classLocation, mavenCoordinates, ...found.found }
    const mayDecompile = options.allowsDecompilation && (options.language ?? 'java') === 'java'
    if (!mayDecompile) throw noSource(origin, options)
    const { text, module } = await this.#decompile(
      snapshot,
      location,
      classLocation.outermost,
      options.isFresh,
    )
    return {
      fqn,
      classLocation,
      mavenCoordinates,
      text,
      filePath: null,
      language: 'java',
      origin: 'DECOMPILED',
      module,
    }
  }

  /** Extracts a part of a text. @throws as the pool does */
  async extract(question: ExtractRequest): Promise<Extracted | undefined> {
    return (await this.#pool.run(workerFile('analyzer-extract-text'), question, {
      timeoutMs: this.#config.source.timeLimitMs,
    })) as Extracted | undefined
  }

  #decompile(snapshot: Snapshot, location: string, outermost: string, isFresh: boolean): Promise<Decompiled> {
    const { index } = snapshot
    const jvm = findJvm(this.#config.jvmHome, process.env)
    const vineflower = this.#vineflower(jvm?.home)
    const task = {
      location,
      outermost,
      cacheDir: textsDirIn(this.#config.cacheDir),
      isFresh,
      vineflower,
    }
    const { memoryLimitBytes } = this.#config.source
    const confinement = decompilerConfinement(
      this.#locations,
      classPathWithSources(snapshot),
      memoryLimitBytes,
    )
    return this.#decompiler.run(task, { release: jvm?.release ?? 8, confinement }, (name) => {
      const id = index.find(name)
      return id === undefined ? undefined : index.sliceOf(id).location
    })
  }

  #vineflower(jvmHome: string | undefined): VineflowerCommand | undefined {
    const { vineflower: jar, memoryLimitBytes, timeLimitMs } = this.#config.source
    if (jar === undefined || jvmHome === undefined) return undefined
    const memoryMb = Math.ceil(memoryLimitBytes / 2 ** 20)
    return { home: jvmHome, jar, memoryMb, timeoutMs: timeLimitMs }
  }

  get #locations(): ReadLocations {
    return { ...this.#config, root: this.#root }
  }
}

const cache = new WeakMap<Snapshot, readonly string[]>()

/** Returns the entries of a project's class path and the source archives that may be next to them. */
function classPathWithSources(snapshot: Snapshot): readonly string[] {
  const before = cache.get(snapshot)
  if (before !== undefined) return before
  const places = new Set(snapshot.index.slices.map(({ location }) => outermostPath(location)))
  const all = [...places].flatMap((path) => [path, ...sourceArchivesBeside(path)])
  cache.set(snapshot, all)
  return all
}

/** Returns the fault for a class without source. */
export function noSource(
  { fqn, source, location }: ClassOrigin,
  { language }: Pick<TextOptions, 'language'>,
) {
  const what = `${fqn} has no ${language === undefined ? '' : `${language} `}source`
  if (source === 'PROJECT') return fault('FILE_NOT_FOUND', `${what} in the project`)
  if (source === 'JDK')
    return fault('JDK_CLASS', `${what}: the JDK of ${location} has no src.zip with this class`)
  return fault(
    'LIBRARY_CLASS',
    `${what}: no source archive with this class is next to ${location} or in the local repositories of Maven and Gradle`,
  )
}
