import { isAlive } from '../../lib/process/is-alive.ts'
import type { AlarmClock } from '../../lib/clock/clock.ts'
import { pause } from '../../lib/clock/pause.ts'
import type { RecordedRun } from './run-record.ts'
import type { Engine } from '../process/engine.ts'
import { findGroup } from '../process/control-groups.ts'
import type { ProcessTable } from '../process/process-table.ts'
import type { RunningProgram, StartedRun } from '../process/process-runner.ts'
import { allProcesses, descendantsOf, marksOf } from '../process/process-tree.ts'
import type { ProcessSpec } from '../process-spec.ts'
import { runSpecOf } from '../process/run-spec.ts'

const END_WAIT_MS = 20
const END_LIMIT_MS = 5_000

interface TakeOver {
  readonly table: ProcessTable
  readonly engine: Engine
  readonly instance: string
  readonly runs: readonly RecordedRun[]
  readonly clock: AlarmClock
  readonly onRun: (spec: ProcessSpec, run: StartedRun) => void
}

/**
 * Continues after a supervisor was killed (fault F26): programs with unchanged settings are taken over, with
 * the output they printed meanwhile; everything else with its mark is stopped, so nothing runs twice. Resolves with the names of
 * the processes taken over.
 */
export async function takeOver(parts: TakeOver): Promise<readonly string[]> {
  const taken = parts.runs.flatMap((run) => (adopt(run, parts) ? [run] : []))
  const owners = new Set(taken.flatMap(({ pid }) => [pid, ...descendantsOf(pid)]))
  const trees = new Set(taken.map(treeOf))
  const foreign = allProcesses().filter((pid) => {
    if (owners.has(pid) || pid === process.pid) return false
    const marks = marksOf(pid)
    // A daemon of a taken-over program belongs to it.
    return marks?.instance === parts.instance && !trees.has(marks.name)
  })
  // Processes without the mark are found in its group.
  for (const run of parts.runs) if (!taken.includes(run) && run.group !== null) findGroup(run.group)?.kill()
  await endAll(foreign, parts.clock)
  return [...new Set(taken.map(({ name }) => name))]
}

function adopt(run: RecordedRun, { table, engine, clock, onRun }: TakeOver): boolean {
  const process = table.find(run.name)
  if (process === undefined || !process.isDown || JSON.stringify(process.spec) !== run.spec) return false
  let program: RunningProgram | undefined
  const tree = treeOf(run)
  const adopted = engine.native?.adopt({ ...run, name: tree }, (exit) => {
    if (program !== undefined) process.exited(program, exit)
  })
  if (adopted === undefined) return false
  program = adopted.program
  const spec = runSpecOf(process.spec, tree, run.port)
  onRun(spec, adopted)
  const uptimeMs = Math.max(0, clock.wallMs() - run.startedMs)
  process.adopt({ program, spec, sinceMs: clock.nowMs() - uptimeMs }, run.restarts)
  return true
}

function treeOf({ tree, name }: RecordedRun): string {
  return tree ?? name
}

async function endAll(pids: readonly number[], clock: AlarmClock): Promise<void> {
  const endMs = clock.nowMs() + END_LIMIT_MS
  for (const pid of pids) {
    try {
      process.kill(pid, 'SIGKILL')
    } catch {
      // It has just exited.
    }
  }
  while (pids.some(isAlive) && clock.nowMs() < endMs) await pause(clock, END_WAIT_MS)
}
