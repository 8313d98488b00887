import { messageOf } from '../../lib/errors/message.ts'
import type { Logger } from '../../lib/log/logger.ts'
import { fault } from '../errors.ts'
import type { ProjectScanner } from '../scan/project-scanner.ts'
import type { ScanProgress } from '../scan/scan-progress.ts'
import type { Scan } from '../scan/scan.ts'

/** State of a server's analysis. Queries use `scan`. */
export type AnalysisState =
  | { readonly is: 'STARTING' | 'SCANNING' }
  | { readonly is: 'READY' | 'REFRESHING'; readonly scan: Scan }
  | { readonly is: 'FAILED'; readonly reason: string }
  | { readonly is: 'STOPPING' }

/** Analysis of one project: the first scan and refreshes, during which queries use the previous index. */
export class Analysis {
  readonly #scanner: ProjectScanner
  readonly #logger: Logger
  #state: AnalysisState = { is: 'STARTING' }
  #refresh: Promise<Scan> | undefined

  constructor(scanner: ProjectScanner, logger: Logger) {
    this.#scanner = scanner
    this.#logger = logger
  }

  get state(): AnalysisState {
    return this.#state
  }

  /** Progress of a running scan; undefined if none is. */
  get progress(): ScanProgress | undefined {
    return this.#scanner.progress.view
  }

  /** Runs the first scan. @throws the error of a failed scan, which is also in the state */
  async start(): Promise<Scan> {
    this.#state = { is: 'SCANNING' }
    return this.#scan(undefined)
  }

  /**
   * Returns the scan that queries use. @throws SCAN_NOT_READY before the first scan completes, and
   * SCAN_FAILED
   */
  get scan(): Scan {
    const state = this.#state
    this.#scanner.used()
    if (state.is === 'READY' || state.is === 'REFRESHING') return state.scan
    if (state.is === 'FAILED') throw fault('SCAN_FAILED', `the project could not be scanned: ${state.reason}`)
    throw fault('SCAN_NOT_READY', 'the first scan of the project is still running; retry in a moment')
  }

  /**
   * Rescans the project; a concurrent call joins the running refresh. Queries use the previous index until
   * the new one is complete.
   */
  refresh(): Promise<Scan> {
    this.#refresh ??= this.#scanAgain().finally(() => (this.#refresh = undefined))
    return this.#refresh
  }

  /** Hashes class files as `ProjectScanner.hashClasses` does. */
  hashClasses(...args: Parameters<ProjectScanner['hashClasses']>): ReturnType<ProjectScanner['hashClasses']> {
    return this.#scanner.hashClasses(...args)
  }

  /** Lists what archives register, as `ProjectScanner.listServices` does. */
  listServices(paths: readonly string[]): Promise<readonly (readonly string[])[]> {
    return this.#scanner.listServices(paths)
  }

  async close(): Promise<void> {
    this.#state = { is: 'STOPPING' }
    await this.#scanner.close()
  }

  async #scanAgain(): Promise<Scan> {
    const before = this.#state
    if (before.is === 'READY') this.#state = { is: 'REFRESHING', scan: before.scan }
    else if (before.is === 'FAILED') this.#state = { is: 'SCANNING' }
    else return this.scan
    return this.#scan(before.is === 'READY' ? before.scan : undefined)
  }

  async #scan(before: Scan | undefined): Promise<Scan> {
    try {
      const scan = await this.#scanner.scan(before)
      this.#become({ is: 'READY', scan })
      const { classCount } = scan.snapshot.index
      this.#logger.info({ classCount, durationMs: scan.durationMs, read: scan.readCount }, 'project scanned')
      return scan
    } catch (error) {
      this.#logger.error({ err: error }, 'the scan failed')
      this.#become(
        before === undefined ? { is: 'FAILED', reason: messageOf(error) } : { is: 'READY', scan: before },
      )
      throw error
    }
  }

  #become(state: AnalysisState): void {
    if (this.#state.is !== 'STOPPING') this.#state = state
  }
}
