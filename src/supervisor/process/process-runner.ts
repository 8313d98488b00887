import type { Readable } from 'node:stream'
import type { Pty } from '../../native/programs/pty.ts'
import type { GroupIdentity } from './control-groups.ts'
import type { ProcessSpec } from '../process-spec.ts'

/** Exit of a run. Code and signal are both undefined if only the program's parent knows, or if it could not be started. */
export interface ExitReport {
  readonly code: number | undefined
  readonly signal: NodeJS.Signals | undefined
  /** Whether the kernel killed processes for exceeding the memory limit. */
  readonly isOutOfMemory?: boolean
  /** Reason of a failed start. */
  readonly failure?: string
}

/** Traces by which a later supervisor finds a program's processes. */
export interface ProgramTraces {
  /** Pipes of its standard output and error, as named in /proc: `pipe:[INODE]`. */
  readonly pipes: readonly string[]
  /** Its control group; null if there are none. */
  readonly group: GroupIdentity | null
}

/** A program started by an earlier supervisor. */
export interface RecordedProgram extends ProgramTraces {
  /** Name of its process tree. */
  readonly name: string
  readonly pid: number
  /** Start time as counted by the kernel, because process ids are reused. */
  readonly began: string
}

/** A started program with all its descendants. */
export interface RunningProgram {
  readonly pid: number
  /** Missing if a later supervisor cannot take it over. */
  readonly traces?: ProgramTraces | undefined
  /** Sends a signal to the program's group and other known descendants. */
  readonly signal: (signal: NodeJS.Signals) => void
  /** Whether the program itself has exited; descendants may still be running. */
  readonly hasEnded: () => boolean
  /** Whether any of its processes is left. */
  readonly hasLeftovers: () => boolean
  /** Returns the ids of the remaining processes. */
  readonly leftovers: () => readonly number[]
}

/** Sources of a program's output: descriptors of pipes, or streams. */
export type Outputs = readonly [stdout: number | Readable, stderr: number | Readable]

/** A run that has just begun. */
export interface StartedRun {
  readonly program: RunningProgram
  readonly outputs: Outputs
  /** Its terminal, if it has one: then its only output. */
  readonly terminal?: Pty
}

/** Settings of a program. */
export interface ProgramSpec extends ProcessSpec {
  /** Name that distinguishes its processes from those of other runs; default: the process's. */
  readonly tree?: string
}

/** Starts programs. */
export interface ProcessRunner {
  /**
   * Starts a program; `onExit` is called once, never before this returns.
   *
   * @throws PROCESS_START_FAILED with the reason
   */
  readonly start: (spec: ProgramSpec, onExit: (exit: ExitReport) => void) => StartedRun
}
