import { type Fault, isFault } from '../../lib/errors/fault.ts'
import { messageOf } from '../../lib/errors/message.ts'
import { fault } from '../errors.ts'
import { type HealthReport, UNCHECKED } from '../health/health.ts'
import { CrashRecord } from './crash-record.ts'
import { askToEnd, endTree } from './end-tree.ts'
import { launchRun } from './launch-run.ts'
import { type NextRun, OverlappingRuns } from './overlapping-runs.ts'
import type { ExitReport, RunningProgram } from './process-runner.ts'
import type { ProcessSpec } from '../process-spec.ts'
import { describeExit, isAllowed, type ProcessState, retryAtOf, statusOf } from './process-state.ts'
import type { RunDeps } from './run-deps.ts'
import { RunHistory } from './run-history.ts'
import { type Run, type RunSpec, runSpecOf } from './run-spec.ts'

/** Dependencies of a supervised process. */
export interface ProcessDeps extends RunDeps {
  readonly onChange: (process: SupervisedProcess) => void
}

/**
 * One process and its state. Every change goes through this class, one step at a time: a caller waiting for a state
 * that is over is notified, and no timer outlives its state.
 */
export class SupervisedProcess {
  readonly #deps: ProcessDeps
  readonly #crashes = new CrashRecord()
  /** Its recent past, for readers; no transition depends on it. */
  readonly history = new RunHistory()
  readonly #overlap: OverlappingRuns
  #spec: ProcessSpec
  /** Settings of the current or the last run. */
  #runSpec: RunSpec
  #state: ProcessState = { is: 'stopped' }
  #health = UNCHECKED
  #restarts = 0
  #lastProgram: RunningProgram | undefined
  #endChecks: () => void = () => undefined
  #cancelTimer: () => void = () => undefined
  #whenSettled: (() => void)[] = []

  constructor(spec: ProcessSpec, deps: ProcessDeps) {
    this.#spec = spec
    this.#runSpec = runSpecOf(spec, spec.name)
    this.#deps = deps
    this.#overlap = new OverlappingRuns({
      ...deps,
      launch: (reason) => {
        this.history.started({ atMs: this.#deps.clock.wallMs(), reason })
        return this.#launch()
      },
      onReport: (run, report) => this.#checked(run.program, report),
      onHealthy: (next, report) => this.#promote(next, report, 'its next run is healthy'),
      onChange: (reason) => this.#told(reason),
    })
  }

  get spec(): ProcessSpec {
    return this.#spec
  }

  get state(): ProcessState {
    return this.#state
  }

  get health(): HealthReport {
    return this.#health
  }

  /** Number of restarts, automatic or manual. */
  get restarts(): number {
    return this.#restarts
  }

  get program(): RunningProgram | undefined {
    return 'program' in this.#state ? this.#state.program : undefined
  }

  /** Settings of the current run, with the port that was chosen for it; if there is none, of the next one. */
  get runSpec(): ProcessSpec {
    return this.program === undefined ? this.#spec : this.#runSpec
  }

  /** All runs: the current one first, then one that will replace it, or one that it has replaced. */
  get runs(): readonly Run[] {
    const { program } = this
    const sinceMs = this.#deps.clock.nowMs() - this.uptimeMs
    const current = program === undefined ? [] : [{ program, spec: this.#runSpec, sinceMs }]
    return [...current, ...this.#overlap.list]
  }

  /** Program of the current or the last run. */
  get lastProgram(): RunningProgram | undefined {
    return this.#lastProgram
  }

  get isDown(): boolean {
    return this.#state.is === 'stopped' || this.#state.is === 'crashed'
  }

  /** Milliseconds since the start of the run; 0 if it is not running. */
  get uptimeMs(): number {
    return 'sinceMs' in this.#state ? this.#deps.clock.nowMs() - this.#state.sinceMs : 0
  }

  /** Starts it. @throws PROCESS_ALREADY_RUNNING when it is not down, and PROCESS_START_FAILED when it cannot be started */
  start(reason = 'requested'): void {
    if (!this.isDown)
      throw fault(
        'PROCESS_ALREADY_RUNNING',
        `process "${this.#spec.name}" is already ${statusOf(this.#state)}`,
      )
    this.#crashes.reset()
    this.#begin(reason)
    const { state } = this
    if (state.is === 'crashed' && state.exit.failure !== undefined)
      throw fault('PROCESS_START_FAILED', state.exit.failure)
  }

  /** Stops it. Resolves when nothing of it is left. @throws PROCESS_NOT_RUNNING when it is down */
  async stop(reason = 'requested'): Promise<void> {
    const { state } = this
    if (this.isDown && retryAtOf(state) === undefined && this.#overlap.list.length === 0)
      throw fault('PROCESS_NOT_RUNNING', `process "${this.#spec.name}" is ${statusOf(state)}`)
    await this.end(reason)
  }

  /** Stops it if it is running. Resolves when nothing of it is left. */
  async end(reason: string): Promise<void> {
    await Promise.all([this.#overlap.end(), this.#endCurrent(reason)])
  }

  #endCurrent(reason: string): Promise<void> {
    const { state } = this
    if (state.is === 'waiting' || retryAtOf(state) !== undefined) {
      this.#enter({ is: 'stopped' }, reason)
      return Promise.resolve()
    }
    if (this.isDown) return Promise.resolve()
    const settled = new Promise<void>((resolve) => this.#whenSettled.push(resolve))
    if (state.is === 'running' || state.is === 'starting') this.#stop(state.program, 'stopped', reason)
    else if (state.is === 'stopping') this.#state = { ...state, next: 'stopped' }
    else if (state.is === 'ending')
      this.#enter(
        { is: 'stopping', program: state.program, sinceMs: this.#deps.clock.nowMs(), next: 'stopped' },
        reason,
        true,
      )
    return settled
  }

  /**
   * Stops and starts it, or starts its next run first if it has `startFirst`. Resolves when it has been started again, or its next
   * run is healthy.
   *
   * @throws PROCESS_START_FAILED when the next run cannot be started or does not become healthy; the current one then continues
   * @param startReason reason of the start after a stop
   */
  async restart(reason = 'requested', startReason = 'restart'): Promise<void> {
    this.#crashes.reset()
    if (this.#spec.startFirst !== undefined && this.#state.is === 'running')
      return this.#overlap.replace(this.#spec, reason, () => this.restart(reason))
    const { state } = this
    if (this.isDown || state.is === 'waiting') {
      if (state.is === 'waiting') this.#enter({ is: 'stopped' }, reason)
      this.#restarts++
      return this.start(reason)
    }
    const settled = new Promise<void>((resolve) => this.#whenSettled.push(resolve))
    if (state.is === 'running' || state.is === 'starting')
      this.#stop(state.program, 'start', reason, startReason)
    else if (state.is === 'stopping') this.#state = { ...state, next: 'start', startReason }
    else if (state.is === 'ending')
      this.#enter(
        { is: 'stopping', program: state.program, sinceMs: this.#deps.clock.nowMs(), next: 'start' },
        reason,
        true,
      )
    await settled
  }

  /** Sends SIGKILL to all its processes in any state. */
  kill(): void {
    for (const { program } of this.runs) program.signal('SIGKILL')
  }

  /** Checks whether its dependencies are ready. */
  retryWaiting(): void {
    if (this.#state.is === 'waiting') this.#begin('its dependencies are ready')
  }

  /** Changes its settings from the next start on. */
  change(spec: ProcessSpec): void {
    this.#spec = spec
  }

  /** Takes over a program of an earlier supervisor. */
  adopt({ program, spec, sinceMs }: Run, restarts: number): void {
    const { clock } = this.#deps
    this.#restarts = restarts
    this.history.started({ atMs: clock.wallMs() - (clock.nowMs() - sinceMs), reason: 'taken over' })
    this.#follow({ program, spec, sinceMs }, 'taken over')
    // Its ready line went to the earlier supervisor.
    if (spec.healthCheck?.probe.kind === 'log')
      this.#checked(program, { ...UNCHECKED, health: 'healthy', lastOutput: 'taken over' })
  }

  /** Handles the exit of a program reported by the runner. */
  exited(program: RunningProgram, exit: ExitReport): void {
    const { state } = this
    if (this.#overlap.exited(program, exit)) return
    // Belongs to an earlier run.
    if (!('program' in state) || state.program !== program) return
    const { uptimeMs } = this
    const isRequested = state.is === 'stopping'
    this.history.exited({ atMs: this.#deps.clock.wallMs(), exit, uptimeMs, isRequested })
    // The stop in progress notices it.
    if (state.is === 'stopping') this.#state = { ...state, exit }
    if (state.is !== 'running' && state.is !== 'starting') return
    const next = this.#overlap.take()
    if (next !== undefined)
      return this.#promote(next, UNCHECKED, `exited with ${describeExit(exit)}; its next run takes over`)
    if (!program.hasLeftovers()) return this.#ended(exit, uptimeMs)
    this.#enter(
      { is: 'ending', program, exit, uptimeMs },
      `exited with ${describeExit(exit)} and left processes behind`,
    )
    this.#endTree(program)
  }

  #begin(reason: string): void {
    const blocked = this.#deps.blockedBy(this.#spec)
    if (blocked !== undefined) {
      if (this.#state.is !== 'waiting' || this.#state.for !== blocked)
        this.#enter({ is: 'waiting', for: blocked }, blocked)
      return
    }
    const atMs = this.#deps.clock.wallMs()
    this.history.started({ atMs, reason })
    try {
      this.#follow(this.#launch(), reason)
    } catch (error) {
      if (!isFault(error)) throw error
      const exit = { code: undefined, signal: undefined, failure: messageOf(error) }
      this.history.exited({ atMs, exit, uptimeMs: 0, isRequested: false })
      if (mayStartLater(error)) this.#ended(exit, 0)
      else this.#enter({ is: 'crashed', exit }, exit.failure)
    }
  }

  #launch(): Run {
    return launchRun(this.#spec, this.runs, this.#deps, (program, exit) => this.exited(program, exit))
  }

  #follow({ program, spec, sinceMs }: Run, reason: string): void {
    this.#lastProgram = program
    this.#runSpec = spec
    const isChecked = spec.healthCheck !== undefined
    this.#enter({ is: isChecked ? 'starting' : 'running', program, sinceMs }, reason)
    if (isChecked) this.#endChecks = this.#deps.checkHealth(spec, (report) => this.#checked(program, report))
  }

  /** Makes the next run the current one. */
  #promote(next: NextRun, report: HealthReport, reason: string): void {
    const { program, spec, sinceMs } = next
    const [old] = this.runs
    this.#cancelTimer()
    this.#endChecks()
    this.#endChecks = next.endChecks
    this.#health = report
    this.#restarts++
    this.#lastProgram = program
    this.#runSpec = spec
    this.#enter({ is: report === UNCHECKED ? 'starting' : 'running', program, sinceMs }, reason, true)
    if (old !== undefined) this.#overlap.drain(old, spec.startFirst?.drainTimeoutMs ?? 0)
  }

  #checked(program: RunningProgram, report: HealthReport): void {
    const { state } = this
    if ((state.is !== 'starting' && state.is !== 'running') || state.program !== program) return
    if (report.hasFailed)
      this.history.checkFailed({ atMs: this.#deps.clock.wallMs(), output: report.lastOutput })
    const before = this.#health.health
    this.#health = report
    if (report.health === before) return
    const { onUnhealthy = 'none' } = this.#overlap.isReplacing ? {} : (this.#runSpec.healthCheck ?? {})
    if (report.health === 'unhealthy' && onUnhealthy === 'restart') {
      this.#restarts++
      return this.#stop(program, 'start', 'unhealthy')
    }
    if (report.health === 'unhealthy' && onUnhealthy === 'end') return this.#end(program)
    if (state.is === 'starting') this.#enter({ ...state, is: 'running' }, report.health, true)
    else this.#told(report.health)
  }

  #stop(program: RunningProgram, next: 'stopped' | 'start', reason: string, startReason = 'restart'): void {
    const sinceMs = this.#deps.clock.nowMs() - this.uptimeMs
    this.#enter({ is: 'stopping', program, sinceMs, next, startReason }, reason)
    askToEnd(program, this.#runSpec, this.#deps.runStopCommand)
    this.#endTree(program)
  }

  /** Stops an unhealthy run; the restart policy then applies. */
  #end(program: RunningProgram): void {
    this.#endChecks()
    this.#told('unhealthy; stopping')
    askToEnd(program, this.#runSpec, this.#deps.runStopCommand)
    this.#endTree(program)
  }

  #endTree(program: RunningProgram): void {
    this.#cancelTimer()
    this.#cancelTimer = endTree(program, this.#runSpec, this.#deps.clock, (complaint) =>
      this.#treeEnded(complaint),
    )
  }

  #treeEnded(complaint?: string): void {
    const { state } = this
    if (state.is === 'ending') return this.#ended(state.exit, state.uptimeMs)
    if (state.is !== 'stopping') return
    if (state.next === 'stopped') return this.#enter({ is: 'stopped' }, complaint ?? howEnded(state.exit))
    this.#restarts++
    this.#begin(state.startReason ?? 'restart')
  }

  /** Handles an unrequested exit once nothing of it is left. */
  #ended(exit: ExitReport, uptimeMs: number): void {
    const how = exit.failure ?? `exited with ${describeExit(exit)}`
    const isSuccess = exit.code !== undefined && this.#spec.successCodes.includes(exit.code)
    const { restart } = this.#spec
    if (restart === 'never' || (restart === 'on-failure' && isSuccess))
      return this.#enter(isSuccess ? { is: 'stopped', exit } : { is: 'crashed', exit }, how)
    const is = isSuccess ? 'stopped' : 'crashed'
    const next = this.#crashes.next(uptimeMs, this.#spec)
    if ('givenUp' in next)
      return this.#enter({ is, exit, givenUp: next.givenUp }, `${how}; given up after ${next.givenUp}`)
    const { delayMs } = next
    const { clock } = this.#deps
    this.#enter(
      { is, exit, retryAtMs: clock.wallMs() + delayMs },
      `${how}; ${isSuccess ? 'next start' : 'next attempt'} in ${delayMs / 1_000} s`,
    )
    this.#cancelTimer = clock.after(delayMs, () => {
      this.#restarts++
      this.#begin(isSuccess ? 'restart after success' : 'restart after a crash')
    })
  }

  #enter(state: ProcessState, reason: string, isSameRun = false): void {
    if (!isAllowed(this.#state.is, state.is))
      throw new Error(`process "${this.#spec.name}" cannot go from ${this.#state.is} to ${state.is}`)
    if (!isSameRun) {
      this.#cancelTimer()
      this.#endChecks()
      this.#endChecks = () => undefined
      this.#health = UNCHECKED
    }
    this.#state = state
    this.#told(reason)
    if (state.is === 'stopping' || state.is === 'ending') return
    const waiting = this.#whenSettled
    this.#whenSettled = []
    for (const resolve of waiting) resolve()
  }

  #told(reason: string): void {
    this.history.changed({ atMs: this.#deps.clock.wallMs(), status: statusOf(this.#state), reason })
    this.#deps.onChange(this)
  }
}

/** Describes the end of a stopped run. */
function howEnded(exit: ExitReport | undefined): string {
  return exit === undefined ? 'all its processes have exited' : `exited with ${describeExit(exit)}`
}

/** Error codes of temporary failures: a busy system, or a file being replaced. */
const PASSING = new Set(['EAGAIN', 'ENOMEM', 'EMFILE', 'ENFILE', 'ETXTBSY', 'EBUSY', 'ENOENT'])

/** Whether a failed start may succeed later; invalid settings stay invalid. */
function mayStartLater({ cause }: Fault): boolean {
  return cause instanceof Error && 'code' in cause && PASSING.has(String(cause.code))
}
