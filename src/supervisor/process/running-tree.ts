import { readProcStat } from '../../lib/process/proc-stat.ts'
import type { ControlGroup } from './control-groups.ts'
import type { OrphanReaper } from './orphan-reaper.ts'
import type { ProgramTraces, RunningProgram } from './process-runner.ts'
import { allProcesses, type StrayFinder } from './process-tree.ts'

/** Known facts of a running program. */
export interface TreeFacts {
  readonly pid: number
  readonly name: string
  /** Whether the program itself has exited and was reaped. */
  readonly hasEnded: () => boolean
  readonly strays: StrayFinder
  readonly group: ControlGroup | undefined
  readonly reaper: OrphanReaper | undefined
  readonly traces?: ProgramTraces
}

/** Represents a program with all its descendants: its control group, or else its process group and strays. */
export function runningTree({
  pid,
  name,
  hasEnded,
  strays,
  group,
  reaper,
  traces,
}: TreeFacts): RunningProgram {
  const groupExists = (): boolean => {
    if (!isThere(-pid)) return false
    // Zombies count as members.
    reaper?.reapGroup(pid)
    return isThere(-pid)
  }
  const others = (): readonly number[] =>
    group === undefined ? strays.straysOf(pid, name) : group.pids().filter((each) => each !== pid)
  return {
    pid,
    traces,
    hasEnded,
    signal(signal) {
      if (signal === 'SIGKILL') group?.kill()
      // Only while it has members; afterwards its id may be reused.
      if (!hasEnded() || groupExists()) send(-pid, signal)
      // The program forwards signals to its children as it wants; only orphaned descendants are signaled here.
      if (hasEnded() || signal === 'SIGKILL') for (const each of others()) send(each, signal)
    },
    hasLeftovers: () => !hasEnded() || groupExists() || others().length > 0,
    leftovers: () => [
      ...new Set([...allProcesses().filter((each) => readProcStat(each)?.group === pid), ...others()]),
    ],
  }
}

function isThere(pid: number): boolean {
  try {
    return process.kill(pid, 0)
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM'
  }
}

function send(pid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(pid, signal)
  } catch {
    // It has just exited.
  }
}
