import type { AlarmClock } from '../../lib/clock/clock.ts'
import type { HealthReport } from '../health/health.ts'
import type { ProcessSpec } from '../process-spec.ts'
import type { ProcessRunner, RunningProgram, StartedRun } from './process-runner.ts'

/** Dependencies of the runs of a process. */
export interface RunDeps {
  readonly clock: AlarmClock
  readonly runner: ProcessRunner
  /** Starts the health checks of a run. Returns a function that stops them. */
  readonly checkHealth: (spec: ProcessSpec, onReport: (report: HealthReport) => void) => () => void
  /** Runs the stop command; rejects if it fails or exceeds the stop timeout. */
  readonly runStopCommand: (spec: ProcessSpec) => Promise<void>
  /** Returns a port for a new run whose process has no fixed one. */
  readonly choosePort: () => number
  /** Resolves when no request to a program is in progress. */
  readonly drained: (program: RunningProgram) => Promise<void>
  readonly onRun: (spec: ProcessSpec, run: StartedRun) => void
  /** Returns what a process waits for before it can start; undefined if nothing. */
  readonly blockedBy: (spec: ProcessSpec) => string | undefined
}
