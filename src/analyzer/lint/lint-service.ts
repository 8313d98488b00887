import { stat } from 'node:fs/promises'
import { availableParallelism } from 'node:os'
import { isFault } from '../../lib/errors/fault.ts'
import { ignore } from '../../lib/errors/ignore.ts'
import { messageOf } from '../../lib/errors/message.ts'
import type { Logger } from '../../lib/log/logger.ts'
import { IdlePool } from '../../lib/pool/idle-pool.ts'
import { workerFile } from '../../lib/pool/worker-file.ts'
import type { AnalyzerConfig } from '../config.ts'
import { fault } from '../errors.ts'
import { findJvm } from '../project/find-jvm.ts'
import { findKtlint, type KtlintCommand, KTLINT_MISSING } from './ktlint-command.ts'
import type { StyleFiles, StyleScope } from './list-style-files.ts'
import { findSourceFile, type SourceFile } from './source-file.ts'
import { fileIssue, fileStyle } from './style-issue.ts'
import type { StyledFile, StyleTask } from './style-task.ts'

const IDLE_MS = 30_000
const LIST_MS = 60_000
const FILE_MS = 60_000
const THREAD_HEAP_MB = 1024

type StyleRequest = Pick<StyleTask, 'writes' | 'wanted'>

/** Result for all files of a project. */
export interface StyledProject {
  readonly files: readonly StyledFile[]
  readonly filesScanned: number
  /** Distinct messages about parts of the project that are not checked or not supported. */
  readonly diagnostics: readonly string[]
}

/** Checks and formats files on all processors. A hang or crash is reported as an issue of the file. */
export class LintService {
  readonly #root: string
  readonly #config: AnalyzerConfig
  readonly #pool: IdlePool
  readonly #threads = availableParallelism()
  readonly #closed = new AbortController()
  /** Serializes runs that write. */
  #exclusive: Promise<unknown> = Promise.resolve()

  constructor(config: AnalyzerConfig, root: string, logger: Logger) {
    this.#root = root
    this.#config = config
    const options = { name: 'analyzer-lint', maxThreads: this.#threads, maxHeapMb: THREAD_HEAP_MB, logger }
    this.#pool = new IdlePool(options, IDLE_MS)
  }

  async close(): Promise<void> {
    this.#closed.abort(fault('SCAN_FAILED', 'the server is stopping'))
    await this.#pool.close()
  }

  /** Checks or formats a file. @throws PROJECT_NOT_FOUND, FILE_NOT_FOUND, BAD_REQUEST, LINTER_NOT_FOUND */
  async file(named: string, request: StyleRequest, signal: AbortSignal): Promise<StyledFile> {
    await this.#requireRoot()
    const file = await findSourceFile(this.#root, named)
    const stop = AbortSignal.any([signal, this.#closed.signal])
    const style = async (): Promise<StyledFile> => {
      if (file.path.endsWith('.java')) return this.#java(file, request, stop)
      if (!/\.kts?$/.test(file.path))
        throw fault('BAD_REQUEST', `"${file.filePath}" is neither a Java nor a Kotlin file`)
      const ktlint = this.#ktlint()
      if (ktlint === undefined) throw fault('LINTER_NOT_FOUND', KTLINT_MISSING)
      const [styled] = await this.#kotlin(ktlint, [file], request, stop)
      if (styled === undefined) throw fault('LINTER_FAILED', `ktlint returned no result for ${file.filePath}`)
      return styled
    }
    return request.writes ? this.#runExclusively(style) : style()
  }

  /**
   * Checks or formats all files of a scope that are not ignored.
   *
   * @throws PROJECT_NOT_FOUND
   * @throws BAD_REQUEST when the pattern is invalid
   */
  async project(
    scope: Omit<StyleScope, 'root'>,
    request: StyleRequest,
    signal: AbortSignal,
  ): Promise<StyledProject> {
    await this.#requireRoot()
    const stop = AbortSignal.any([signal, this.#closed.signal])
    const style = async (): Promise<StyledProject> => {
      const { java, kotlin } = await this.#list(scope)
      const ktlint = kotlin.length === 0 ? undefined : this.#ktlint()
      const [styledJava, styledKotlin] = await Promise.all([
        this.#each(java, request, stop),
        ktlint === undefined ? [] : this.#kotlin(ktlint, kotlin, request, stop),
      ])
      const files = [...styledJava, ...styledKotlin].filter(({ isIgnored }) => !isIgnored)
      const unchecked = kotlin.length > 0 && ktlint === undefined
      return {
        files,
        filesScanned: files.length,
        diagnostics: [
          ...(unchecked ? [`${kotlin.length} Kotlin files are skipped. ${KTLINT_MISSING}`] : []),
          ...new Set(styledJava.flatMap(({ diagnostics }) => diagnostics)),
        ],
      }
    }
    return request.writes ? this.#runExclusively(style) : style()
  }

  /** The folder may have been deleted since the server started. */
  async #requireRoot(): Promise<void> {
    await stat(this.#root).catch((error: unknown) => {
      const what = `the project's folder ${this.#root} cannot be opened: ${messageOf(error)}`
      throw fault('PROJECT_NOT_FOUND', what, error)
    })
  }

  #runExclusively<Result>(work: () => Promise<Result>): Promise<Result> {
    const turn = this.#exclusive.then(work)
    this.#exclusive = turn.catch(ignore('the caller of the turn gets it'))
    return turn
  }

  async #list(scope: Omit<StyleScope, 'root'>): Promise<StyleFiles> {
    const task: StyleScope = { root: this.#root, ...scope }
    try {
      return (await this.#pool.run(workerFile('analyzer-style-files'), task, {
        timeoutMs: LIST_MS,
      })) as StyleFiles
    } catch (error) {
      if (scope.pattern === undefined || !isFault(error) || error.code !== 'POOL_TIMEOUT') throw error
      throw fault(
        'BAD_REQUEST',
        `the pattern ${JSON.stringify(scope.pattern)} takes too long to match; simplify it`,
        error,
      )
    }
  }

  /**
   * Styles as many files concurrently as there are threads, so that the timeout of each starts when it runs.
   */
  async #each(
    files: readonly SourceFile[],
    request: StyleRequest,
    stop: AbortSignal,
  ): Promise<readonly StyledFile[]> {
    const styled: StyledFile[] = []
    const waiting = files.entries()
    const work = async (): Promise<void> => {
      for (const [at, file] of waiting) styled[at] = await this.#java(file, request, stop)
    }
    await Promise.all(Array.from({ length: this.#threads }, work))
    return styled
  }

  async #java(file: SourceFile, request: StyleRequest, signal: AbortSignal): Promise<StyledFile> {
    const startMs = performance.now()
    const task: StyleTask = { root: this.#root, file, ...request }
    try {
      return (await this.#pool.run(workerFile('analyzer-style-java'), task, {
        timeoutMs: FILE_MS,
        signal,
      })) as StyledFile
    } catch (error) {
      signal.throwIfAborted()
      const crash = crashIssueOf(error)
      if (crash === undefined) throw error
      const issue = fileIssue(...crash)
      return {
        ...fileStyle(file.filePath, [issue], startMs),
        hasChanges: false,
        isIgnored: false,
        diagnostics: [],
      }
    }
  }

  async #kotlin(
    ktlint: KtlintCommand,
    files: readonly SourceFile[],
    request: StyleRequest,
    signal: AbortSignal,
  ): Promise<readonly StyledFile[]> {
    const { styleKotlinFiles } = await import('./style-kotlin-files.ts')
    try {
      return await styleKotlinFiles(ktlint, { root: this.#root, files, ...request }, signal)
    } catch (error) {
      signal.throwIfAborted()
      throw fault('LINTER_FAILED', error instanceof Error ? error.message : 'ktlint failed', error)
    }
  }

  #ktlint(): KtlintCommand | undefined {
    const jvm = findJvm(this.#config.jvmHome, process.env)
    return findKtlint(this.#config.lint.ktlint, jvm?.home, process.env['PATH'])
  }
}

/** Returns the issue of a file whose process hung or crashed. */
function crashIssueOf(error: unknown): readonly [ruleId: string, detail: string] | undefined {
  if (!isFault(error)) return undefined
  if (error.code === 'POOL_TIMEOUT')
    return ['timeout', `it could not be formatted within ${FILE_MS / 1_000} s`]
  const isLost = error.code === 'POOL_TASK_FAILED' || error.code === 'POOL_CRASHED'
  return isLost ? ['crash', 'the process crashed while formatting it or another file'] : undefined
}
