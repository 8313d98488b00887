import { dirname, join } from 'node:path'
import { makeDirs } from '../lib/fs/make-dirs.ts'
import { messageOf } from '../lib/errors/message.ts'
import type { Logger } from '../lib/log/logger.ts'
import type { AlarmClock } from '../lib/clock/clock.ts'
import type { SupervisorConfig } from './config.ts'
import { diagnose, type Diagnosis } from './diagnosis/diagnose.ts'
import { Hooks } from './hooks/hooks.ts'
import { HealthMonitor } from './health/health-monitor.ts'
import { awaitLine } from './health/await-line.ts'
import { createProbe } from './health/probe.ts'
import { ProcessLogs } from './log/process-logs.ts'
import { openDestination } from './shipping/open-destination.ts'
import { Shipper } from './shipping/shipper.ts'
import { watchLostLines } from './log/watch-lost-lines.ts'
import { type Engine, openEngine } from './process/engine.ts'
import { FreePorts } from './process/free-ports.ts'
import { type CommandPlace, runCommand } from './health/run-command.ts'
import { environmentOf } from './process/process-environment.ts'
import type { StartedRun } from './process/process-runner.ts'
import type { ProcessSpec } from './process-spec.ts'
import { type Abort, ProcessTable, type ReloadResult } from './process/process-table.ts'
import { followSchedule } from './process/schedule.ts'
import type { SupervisedProcess } from './process/supervised-process.ts'
import { findUser } from './process/system-user.ts'
import type { CapturedRequest } from './proxy/captured-request.ts'
import { RequestsInProgress } from './proxy/requests-in-progress.ts'
import { takeOver } from './state/take-over.ts'
import { RunRecord } from './state/run-record.ts'
import type { StateDir } from './state/state-dir.ts'
import { Terminals } from './terminal/terminals.ts'
import { watchFiles } from './watch/watch-files.ts'

/** Time that hooks have after all processes have stopped. */
const HOOK_GRACE_MS = 3_000

/** Time in which the last lines must be sent. */
const SHIP_GRACE_MS = 3_000

/** Dependencies of a supervisor. */
export interface SupervisorDeps {
  readonly logger: Logger
  readonly clock: AlarmClock
  readonly environment: NodeJS.ProcessEnv
  readonly platform: NodeJS.Platform
}

/** All processes of a configuration with their lines; used by the faces. */
export class Supervisor {
  readonly table: ProcessTable
  readonly logs: ProcessLogs
  readonly terminals = new Terminals()
  readonly requestsInProgress = new RequestsInProgress()
  readonly #deps: SupervisorDeps
  readonly #state: StateDir
  readonly #engine: Engine
  readonly #record: RunRecord
  readonly #hooks: Hooks
  readonly #shippers: readonly Shipper[]
  readonly #endWatch: () => void
  readonly #schedules = new Map<string, () => void>()
  /** Sequence number of the last line before the current run of each process. */
  readonly #lastLines = new Map<string, number>()
  readonly #watches = new Map<string, () => void>()
  readonly #listeners = new Set<(process: SupervisedProcess) => void>()
  /** Why the supervisor stops; the first cause stays. */
  #endCause: string | undefined
  readonly #over = Promise.withResolvers<number>()
  #exitWhenDone: boolean
  /** Whether the initial start is complete; before that, no running process is meaningless. */
  #hasStarted = false

  constructor(config: SupervisorConfig, state: StateDir, deps: SupervisorDeps) {
    const { logger, clock, environment, platform } = deps
    const warn = (message: string): void => logger.warn(message)
    this.#deps = deps
    this.#state = state
    this.#exitWhenDone = config.exitWhenDone
    this.#engine = openEngine({ instance: state.instance, environment, clock, warn, platform })
    this.#record = new RunRecord(join(state.path, 'runs.json'), clock, warn)
    this.#hooks = new Hooks(config.hooks, { logger, clock, environment })
    this.logs = new ProcessLogs(this.#engine.logs)
    const shipping = { logs: this.logs, clock, logger }
    this.#shippers = config.destinations.map(
      ([name, settings]) => new Shipper(name, openDestination(settings), shipping),
    )
    this.#endWatch = watchLostLines(this.logs, clock, logger)
    const ports = new FreePorts()
    this.table = new ProcessTable(config.processes, {
      clock,
      runner: this.#engine.runner,
      checkHealth: (spec, onReport) => {
        if (spec.healthCheck === undefined) return () => undefined
        const { probe } = spec.healthCheck
        if (probe.kind === 'log') {
          const afterSequence = this.#lastLines.get(spec.name) ?? 0
          return awaitLine(
            this.logs,
            { process: spec.name, text: probe.text, afterSequence },
            clock,
            onReport,
          )
        }
        const ask = createProbe(probe, probePlace(spec, environment))
        const monitor = new HealthMonitor(spec.healthCheck, ask, clock, onReport)
        return () => monitor.stop()
      },
      runStopCommand: (spec) => this.#runStopCommand(spec),
      choosePort: () => ports.next(),
      drained: (program) => this.requestsInProgress.drained(program),
      onRun: (spec, run) => this.#attach(spec, run),
      onOpen: (spec) => this.#open(spec),
      onRemove: (name) => this.#remove(name),
      onChange: (process) => this.#changed(process),
    })
  }

  /** Takes over processes of an earlier supervisor and starts those with `autostart`. */
  async start(): Promise<void> {
    const taken = await takeOver({
      table: this.table,
      engine: this.#engine,
      instance: this.#state.instance,
      runs: await this.#record.read(),
      clock: this.#deps.clock,
      onRun: (spec, run) => this.#attach(spec, run),
    })
    if (taken.length > 0) this.#deps.logger.info({ processes: taken }, 'took over processes')
    this.#hooks.begin()
    this.table.startAll()
    this.#hasStarted = true
    this.#endWhenOver()
  }

  /** Resolves with an exit status when the exit of a process, or of all of them, stops the supervisor. */
  get over(): Promise<number> {
    return this.#over.promise
  }

  reload({ processes, exitWhenDone, hooks }: SupervisorConfig): Promise<ReloadResult> {
    this.#exitWhenDone = exitWhenDone
    this.#hooks.set(hooks)
    return this.table.reload(processes)
  }

  /**
   * Explains the state of a process.
   *
   * @param requests that went through the proxy, oldest first
   * @throws PROCESS_NOT_FOUND when there is none with this name
   */
  async diagnose(name: string, requests: readonly CapturedRequest[]): Promise<Diagnosis> {
    const { table, logs } = this
    const { instance } = this.#state
    return diagnose(table.get(name), { table, logs, instance, clock: this.#deps.clock, requests })
  }

  /** Numbers of events that hooks have missed, by name of the hook. */
  get droppedEvents(): ReadonlyMap<string, number> {
    return this.#hooks.dropped
  }

  /** Numbers of lines that were not sent, by name of the destination. */
  get unsentLines(): ReadonlyMap<string, number> {
    return new Map(this.#shippers.map(({ name, droppedLines }) => [name, droppedLines]))
  }

  /** Calls the listener when a process changes. Returns a function that unsubscribes. */
  onChange(listener: (process: SupervisedProcess) => void): () => void {
    this.#listeners.add(listener)
    return () => this.#listeners.delete(listener)
  }

  /** Stops all processes; after the limit the rest is killed. */
  async stop(limitMs: number): Promise<void> {
    for (const cancel of this.#schedules.values()) cancel()
    this.#schedules.clear()
    for (const cancel of this.#watches.values()) cancel()
    this.#watches.clear()
    const cause = this.#endCause
    this.#endCause ??= 'it was asked to'
    await this.table.stopAll(limitMs, cause)
    await this.#hooks.close(HOOK_GRACE_MS)
    await this.logs.drained(this.#deps.clock)
    await Promise.all(this.#shippers.map((shipper) => shipper.close(SHIP_GRACE_MS)))
    await this.#record.close(this.table)
  }

  /** Releases all resources; must be called last. */
  close(): void {
    this.#endWatch()
    this.terminals.close()
    this.#engine.close()
  }

  async #runStopCommand(spec: ProcessSpec): Promise<void> {
    const { clock, environment, logger } = this.#deps
    const limit = new AbortController()
    const cancel = clock.after(spec.stopTimeoutMs, () => limit.abort())
    try {
      const { isDone, output } = await runCommand(
        spec.stopCommand ?? [],
        probePlace(spec, environment),
        limit.signal,
      )
      if (!isDone) throw new Error(output)
    } catch (error) {
      logger.warn(`process "${spec.name}": stop command failed, killing the process: ${messageOf(error)}`)
      throw error
    } finally {
      cancel()
    }
  }

  #attach(spec: ProcessSpec, { outputs, terminal }: StartedRun): void {
    const source = this.logs.open(spec.name, spec.log)
    if (terminal !== undefined) this.terminals.connect(spec, terminal)
    this.#lastLines.set(spec.name, this.logs.store.nextSequence() - 1)
    source.attach(0, outputs[0])
    source.attach(1, outputs[1])
  }

  #open(spec: ProcessSpec): void {
    const { logger, clock } = this.#deps
    try {
      if (spec.log.file !== undefined) makeDirs(dirname(spec.log.file))
    } catch (error) {
      logger.warn(`process "${spec.name}": log file cannot be opened: ${messageOf(error)}`)
    }
    this.logs.open(spec.name, spec.log)
    this.#watch(spec)
    this.#schedules.get(spec.name)?.()
    this.#schedules.delete(spec.name)
    if (spec.schedule === undefined) return
    this.#schedules.set(
      spec.name,
      followSchedule(spec.schedule, clock, () => this.#startOnTime(spec.name)),
    )
  }

  #endWhenOver(): void {
    if (!this.#hasStarted) return
    const abort = this.table.abort()
    if (abort !== undefined) this.#end(abort)
    else if (this.#exitWhenDone && this.table.isOver())
      this.#end({ status: 0, cause: 'all processes have exited' })
  }

  #end({ status, cause }: Abort): void {
    if (this.#endCause !== undefined) return
    this.#endCause = cause
    this.#deps.logger.info({ status }, `stopping, because ${cause}`)
    this.#over.resolve(status)
  }

  #startOnTime(name: string): void {
    const process = this.table.find(name)
    if (process?.isDown !== true)
      return this.#deps.logger.warn(`process "${name}" is still running at its next scheduled time`)
    try {
      this.table.start(name, 'started by its schedule')
    } catch (error) {
      this.#deps.logger.error(messageOf(error))
    }
  }

  #watch({ watch, ...spec }: ProcessSpec): void {
    const { clock, logger } = this.#deps
    this.#watches.get(spec.name)?.()
    this.#watches.delete(spec.name)
    if (watch === undefined) return
    const warn = (message: string): void => logger.warn(message)
    const onChange = (what: string): void => this.#restartChanged(spec.name, what)
    this.#watches.set(spec.name, watchFiles({ ...spec, watch }, { clock, warn, onChange }))
  }

  /** Restarts a process, or starts it after it exited by itself; one that was stopped by hand stays down. */
  #restartChanged(name: string, what: string): void {
    const { state } = this.table.get(name)
    if (state.is === 'waiting' || (state.is === 'stopped' && state.exit === undefined)) return
    if (state.is === 'stopping' && state.next === 'stopped') return
    this.table.restart(name, what).catch((error: unknown) => this.#deps.logger.error(messageOf(error)))
  }

  #remove(name: string): void {
    this.#watches.get(name)?.()
    this.#watches.delete(name)
    this.#schedules.get(name)?.()
    this.#schedules.delete(name)
    this.#lastLines.delete(name)
    this.logs.remove(name)
    this.terminals.remove(name)
  }

  #changed(process: SupervisedProcess): void {
    const { spec, state, history } = process
    const { reason, status } = history.changes.at(-1) ?? { reason: '', status: '' }
    const level = state.is === 'crashed' ? 'error' : 'info'
    this.#deps.logger[level]({ process: spec.name, status, reason }, `${spec.name} is ${status}`)
    this.#record.changed(this.table)
    this.#hooks.changed(process)
    for (const listener of this.#listeners) listener(process)
    this.#endWhenOver()
  }
}

function probePlace(spec: ProcessSpec, inherited: NodeJS.ProcessEnv): CommandPlace {
  const user = spec.user === undefined ? undefined : findUser(spec.user)
  return {
    cwd: spec.cwd,
    environment: environmentOf(spec, inherited),
    user: user && { uid: user.uid, gid: user.gid },
  }
}
