import type { Readable } from 'node:stream'
import type { GroupIdentity } from './control-groups.ts'
import type { ProcessSpec } from '../process-spec.ts'

/** How a run ended. Both undefined: nobody but the program's parent was told, or it could not be started. */
export interface ExitReport {
  readonly code: number | undefined
  readonly signal: NodeJS.Signals | undefined
  /** Whether the kernel ended processes of it because they had all the memory that it may have. */
  readonly isOutOfMemory?: boolean
  /** Why it could not be started. */
  readonly failure?: string
}

/** By what a later supervisor finds what belongs to a program. */
export interface ProgramTraces {
  /** The pipes that its supervisor made for its standard output and error, as /proc names them: `pipe:[INODE]`. */
  readonly pipes: readonly string[]
  /** The control group that it began in; null where there are none. */
  readonly group: GroupIdentity | null
}

/** A program that an earlier supervisor started. */
export interface RecordedProgram extends ProgramTraces {
  readonly name: string
  readonly pid: number
  /** When it began, as the kernel counts it: an id is given to other processes later. */
  readonly began: string
}

/** A program that was started, and all that it has started in turn. */
export interface RunningProgram {
  readonly pid: number
  /** Missing where no later supervisor can take it over. */
  readonly traces?: ProgramTraces | undefined
  /** Sends a signal to the program's group and to what else is known to belong to it. */
  readonly signal: (signal: NodeJS.Signals) => void
  /** Whether the program itself has ended; what it has started may go on. */
  readonly hasEnded: () => boolean
  /** Whether anything of it is left. */
  readonly hasLeftovers: () => boolean
  /** The ids of processes that are left. */
  readonly leftovers: () => readonly number[]
}

/** Where a program's output comes from: descriptors of pipes, or streams. */
export type Outputs = readonly [stdout: number | Readable, stderr: number | Readable]

/** Starts programs. */
export interface ProcessRunner {
  /**
   * Starts a program; `onExit` is called once, never before this returns.
   *
   * @throws Fault PROCESS_START_FAILED with a sentence for the user
   */
  readonly start: (
    spec: ProcessSpec,
    onExit: (exit: ExitReport) => void,
  ) => { readonly program: RunningProgram; readonly outputs: Outputs }
}
