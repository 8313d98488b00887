import { isFault } from '../../lib/errors/fault.ts'
import type { Logger } from '../../lib/log/logger.ts'
import { stampIfThere } from './slices.ts'

/** A task for one class path entry. */
export interface EntryTask {
  readonly entry: { readonly path: string }
}

/** Result of a task whose process crashed. */
const CRASH = Symbol('crash')
type Crash = typeof CRASH

/**
 * Class path entries that repeatedly crashed the process that read them. They are skipped until they change.
 */
export class Quarantine {
  /** Stamps by path. */
  readonly #stamps = new Map<string, string | undefined>()
  readonly #logger: Logger

  constructor(logger: Logger) {
    this.#logger = logger
  }

  get paths(): readonly string[] {
    return [...this.#stamps.keys()]
  }

  has(path: string): boolean {
    return this.#stamps.has(path)
  }

  #add(path: string): void {
    this.#stamps.set(path, stampIfThere(path))
    this.#logger.error({ path }, 'reading this repeatedly crashed the process; it is skipped')
  }

  /**
   * Runs tasks concurrently; tasks of quarantined entries have no result. A crash also aborts the other tasks
   * of the process: all are rerun one by one, and an entry that crashes again is quarantined.
   *
   * @throws the first other error, once all tasks finished
   */
  async runAll<Task extends EntryTask, Result>(
    tasks: readonly Task[],
    run: (task: Task, isAlone: boolean) => Promise<Result>,
  ): Promise<readonly (Result | undefined)[]> {
    const attempt = async (task: Task, isAlone: boolean): Promise<Result | Crash | undefined> => {
      if (this.has(task.entry.path)) return undefined
      try {
        return await run(task, isAlone)
      } catch (error) {
        if (hasCrashed(error)) return CRASH
        throw error
      }
    }
    const ended = await Promise.allSettled(tasks.map((task) => attempt(task, false)))
    const failure = ended.find(({ status }) => status === 'rejected')
    if (failure?.status === 'rejected') throw failure.reason
    const results: (Result | undefined)[] = []
    for (const [i, task] of tasks.entries()) {
      const first = ended[i]
      let result = first?.status === 'fulfilled' ? first.value : undefined
      if (result === CRASH) result = await attempt(task, true)
      if (result === CRASH) this.#add(task.entry.path)
      results.push(result === CRASH ? undefined : result)
    }
    return results
  }

  /** Releases the entries that were quarantined since. Returns whether there were any. */
  releaseSince(paths: readonly string[]): boolean {
    const added = this.paths.filter((path) => !paths.includes(path))
    for (const path of added) this.#stamps.delete(path)
    return added.length > 0
  }

  /** Releases entries that changed. */
  releaseChanged(): void {
    for (const [path, stamp] of this.#stamps) if (stampIfThere(path) !== stamp) this.#stamps.delete(path)
  }
}

/** Whether the process crashed, or its thread by exhausting its heap. */
function hasCrashed(error: unknown): boolean {
  return isFault(error) && (error.code === 'POOL_CRASHED' || error.code === 'POOL_TASK_FAILED')
}
