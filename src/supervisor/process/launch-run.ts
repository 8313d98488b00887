import type { ProcessSpec } from '../process-spec.ts'
import type { ExitReport, RunningProgram } from './process-runner.ts'
import type { RunDeps } from './run-deps.ts'
import { freeTree, type Run, runSpecOf } from './run-spec.ts'

/**
 * Starts a run of a process next to its other runs.
 *
 * @throws PROCESS_START_FAILED with the reason
 */
export function launchRun(
  spec: ProcessSpec,
  others: readonly Run[],
  { runner, clock, choosePort, onRun }: RunDeps,
  onExit: (program: RunningProgram, exit: ExitReport) => void,
): Run {
  const run = runSpecOf(spec, freeTree(spec.name, others), spec.startFirst && choosePort())
  let isStarted = false
  const started = runner.start(run, (exit) => {
    // Nothing may be reported about a program before it is known.
    if (isStarted) onExit(started.program, exit)
  })
  isStarted = true
  onRun(run, started)
  return { program: started.program, spec: run, sinceMs: clock.nowMs() }
}
