import { messageOf } from '../../lib/errors/message.ts'
import { fault } from '../errors.ts'
import type { HealthReport } from '../health/health.ts'
import type { ProcessSpec } from '../process-spec.ts'
import { askToEnd, endTree } from './end-tree.ts'
import type { ExitReport, RunningProgram } from './process-runner.ts'
import { describeExit } from './process-state.ts'
import type { RunDeps } from './run-deps.ts'
import type { Run } from './run-spec.ts'

type OverlapDeps = RunDeps & {
  /** Starts a run. @throws PROCESS_START_FAILED with the reason */
  readonly launch: (reason: string) => Run
  /** Called for each check of a run that was the next one. */
  readonly onReport: (run: Run, report: HealthReport) => void
  /** Called when the next run should become the current one. */
  readonly onHealthy: (next: NextRun, report: HealthReport) => void
  /** Called after other changes, with the reason. */
  readonly onChange: (reason: string) => void
}

/** A run that will replace the current one when it is healthy. Its checks continue then. */
export interface NextRun extends Run {
  readonly endChecks: () => void
  readonly cancelLimit: () => void
  /** Ends the restart in progress. */
  readonly replaced: PromiseWithResolvers<void>
}

/** A run that is not used any longer. */
interface OldRun extends Run {
  /** Stops it without waiting for its requests. */
  readonly stop: () => void
}

/** The runs of a process besides its current one: one that will replace it, or one that it has replaced. */
export class OverlappingRuns {
  readonly #deps: OverlapDeps
  #next: NextRun | undefined
  #old: OldRun | undefined
  /** A restart that waits until there is neither. */
  #queued: Promise<void> | undefined
  #whenOver: (() => void)[] = []

  constructor(deps: OverlapDeps) {
    this.#deps = deps
  }

  get list(): readonly Run[] {
    return [this.#next, this.#old].filter((run) => run !== undefined)
  }

  get isReplacing(): boolean {
    return this.#next !== undefined
  }

  /**
   * Starts the next run. Resolves when it has become the current one, or was stopped.
   *
   * @throws PROCESS_START_FAILED when it cannot be started or does not become healthy
   * @param restart called instead if another one is in progress, when that is over
   */
  async replace(spec: ProcessSpec, reason: string, restart: () => Promise<void>): Promise<void> {
    // The run that is starting may have read older files; further requests join this one.
    if (this.list.length > 0) return (this.#queued ??= this.#restartLater(restart))
    const { blockedBy, launch, onChange } = this.#deps
    const blocked = blockedBy(spec)
    if (blocked !== undefined)
      throw fault('PROCESS_START_FAILED', `process "${spec.name}" cannot be replaced: ${blocked}`)
    let run: Run
    try {
      run = launch(reason)
    } catch (error) {
      onChange(`its next run failed: ${messageOf(error)}; the current run continues`)
      throw error
    }
    const { replaced } = this.#check(run)
    onChange(`its next run is starting: ${reason}`)
    return replaced.promise
  }

  async #restartLater(restart: () => Promise<void>): Promise<void> {
    await this.over()
    // It was stopped meanwhile.
    if (this.#queued === undefined) return
    this.#queued = undefined
    await restart()
  }

  #check(run: Run): NextRun {
    const { clock, checkHealth, onReport, onHealthy } = this.#deps
    const { spec, program } = run
    const { startTimeoutMs = 0 } = spec.startFirst ?? {}
    // Until the limit, failures mean that it is starting.
    const healthCheck = spec.healthCheck && { ...spec.healthCheck, startPeriodMs: startTimeoutMs }
    let lastOutput = ''
    const endChecks = checkHealth({ ...spec, healthCheck }, (report) => {
      if (this.#next?.program !== program) return onReport(run, report)
      lastOutput = report.lastOutput
      if (report.health !== 'healthy') return
      const next = this.take()
      if (next !== undefined) onHealthy(next, report)
    })
    const cancelLimit = clock.after(startTimeoutMs, () =>
      this.#abandon(
        `it was not healthy within ${startTimeoutMs / 1_000} s${lastOutput === '' ? '' : `: ${lastOutput}`}`,
      ),
    )
    return (this.#next = { ...run, endChecks, cancelLimit, replaced: Promise.withResolvers() })
  }

  /** Returns the next run, which becomes the current one; undefined if there is none. */
  take(): NextRun | undefined {
    const next = this.#next
    this.#next = undefined
    next?.cancelLimit()
    next?.replaced.resolve()
    return next
  }

  /** Stops the next run; the current one continues. */
  #abandon(why: string): void {
    const { spec, replaced } = this.#next ?? {}
    replaced?.reject(
      fault(
        'PROCESS_START_FAILED',
        `process "${spec?.name}" continues with its current run, because the next one failed: ${why}`,
      ),
    )
    this.#discard()
    this.#deps.onChange(`its next run failed: ${why}; the current run continues`)
  }

  #discard(): void {
    const next = this.take()
    if (next === undefined) return
    next.endChecks()
    this.drain(next, 0)
  }

  /** Stops a run when its requests have ended, at the latest after a limit. */
  drain(run: Run, limitMs: number): void {
    const { clock, drained, onChange, runStopCommand } = this.#deps
    const { program, spec } = run
    let isStopping = false
    const stop = (): void => {
      if (isStopping) return
      isStopping = true
      cancel()
      askToEnd(program, spec, runStopCommand)
      endTree(program, spec, clock, (complaint) => {
        this.#old = undefined
        if (complaint !== undefined) onChange(complaint)
        this.#settle()
      })
    }
    const cancel = clock.after(limitMs, stop)
    this.#old = { ...run, stop }
    if (program.hasEnded()) stop()
    else void drained(program).then(stop)
  }

  /** Handles the exit of a program. Returns whether it was one of these. */
  exited(program: RunningProgram, exit: ExitReport): boolean {
    if (this.#next?.program === program) {
      this.#abandon(`it exited with ${describeExit(exit)}`)
      return true
    }
    if (this.#old?.program !== program) return false
    this.#old.stop()
    return true
  }

  /** Stops all. Resolves when nothing of them is left. */
  end(): Promise<void> {
    this.#queued = undefined
    this.#discard()
    this.#old?.stop()
    return this.over()
  }

  /** Resolves when there is none. */
  over(): Promise<void> {
    return new Promise((resolve) => {
      this.#whenOver.push(resolve)
      this.#settle()
    })
  }

  #settle(): void {
    if (this.list.length > 0) return
    const waiting = this.#whenOver
    this.#whenOver = []
    for (const resolve of waiting) resolve()
  }
}
