import type { ExitReport } from './process-runner.ts'

const KEPT_CHANGES = 50
const KEPT_STARTS = 20
const KEPT_CHECKS = 5

/** A change of a process's status. */
export interface Change {
  readonly atMs: number
  readonly status: string
  readonly reason: string
}

/** An attempt to start a process. */
export interface Start {
  readonly atMs: number
  readonly reason: string
}

/** The end of a run. */
export interface PastExit {
  readonly atMs: number
  readonly exit: ExitReport
  readonly uptimeMs: number
  /** Whether it was stopped on request. */
  readonly isRequested: boolean
}

/** A health check that failed. */
export interface FailedCheck {
  readonly atMs: number
  readonly output: string
}

/** The recent past of a process across its runs, within bounds. */
export class RunHistory {
  readonly #changes: Change[] = []
  readonly #starts: Start[] = []
  readonly #failedChecks: FailedCheck[] = []
  #lastExit: PastExit | undefined

  /** Changes of its status, oldest first. */
  get changes(): readonly Change[] {
    return this.#changes
  }

  /** Attempts to start it, oldest first. */
  get starts(): readonly Start[] {
    return this.#starts
  }

  /** Health checks that failed, oldest first. */
  get failedChecks(): readonly FailedCheck[] {
    return this.#failedChecks
  }

  get lastExit(): PastExit | undefined {
    return this.#lastExit
  }

  changed(change: Change): void {
    keep(this.#changes, change, KEPT_CHANGES)
  }

  started(start: Start): void {
    keep(this.#starts, start, KEPT_STARTS)
  }

  checkFailed(check: FailedCheck): void {
    keep(this.#failedChecks, check, KEPT_CHECKS)
  }

  exited(exit: PastExit): void {
    this.#lastExit = exit
  }
}

function keep<T>(list: T[], item: T, most: number): void {
  list.push(item)
  if (list.length > most) list.shift()
}
