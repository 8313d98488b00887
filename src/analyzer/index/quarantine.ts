import { isFault } from '../../lib/errors/fault.ts'
import type { Logger } from '../../lib/log/logger.ts'
import { stampIfThere } from './slices.ts'

/** Work on one place of a class path. */
export interface EntryTask {
  readonly entry: { readonly path: string }
}

/** A task's process ended under it. */
const CRASH = Symbol('crash')
type Crash = typeof CRASH

/** Places that have again and again ended the process that read them: they are left out until they change. */
export class Quarantine {
  /** With their stamps. */
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
    this.#logger.error({ path }, 'reading this has ended its process again and again; it is left out')
  }

  /**
   * Runs tasks together; those of places that are left out have no result. A crash takes with it what else was at work: all that is run again,
   * one by one, which shows whose it was, and that place is left out from now on.
   *
   * @throws what else went wrong, once all have ended
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

  /** Everything that was left out since then is tried again. Returns whether there was any. */
  releaseSince(paths: readonly string[]): boolean {
    const added = this.paths.filter((path) => !paths.includes(path))
    for (const path of added) this.#stamps.delete(path)
    return added.length > 0
  }

  /** What has changed is tried again. */
  releaseChanged(): void {
    for (const [path, stamp] of this.#stamps) if (stampIfThere(path) !== stamp) this.#stamps.delete(path)
  }
}

/** Whether the process or the thread that was at work has ended, the latter by filling its heap. */
function hasCrashed(error: unknown): boolean {
  return isFault(error) && (error.code === 'POOL_CRASHED' || error.code === 'POOL_TASK_FAILED')
}
