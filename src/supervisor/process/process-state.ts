import { constants } from 'node:os'
import type { ExitReport, RunningProgram } from './process-runner.ts'

/** State of a process; `supervised-process.ts` changes it. */
export type ProcessState =
  /** Exited by itself if there is an `exit`. Restarted at `retryAtMs` if set. */
  | {
      readonly is: 'stopped'
      readonly exit?: ExitReport
      readonly retryAtMs?: number
      /** Why it is not restarted, if its restart policy gave up. */
      readonly givenUp?: string
    }
  /** Waits for its dependencies. */
  | { readonly is: 'waiting'; readonly for: string }
  /** Running, but not healthy yet. */
  | { readonly is: 'starting'; readonly program: RunningProgram; readonly sinceMs: number }
  | { readonly is: 'running'; readonly program: RunningProgram; readonly sinceMs: number }
  | {
      readonly is: 'stopping'
      readonly program: RunningProgram
      readonly sinceMs: number
      readonly next: 'stopped' | 'start'
      /** Reason of the next start; default: a restart. */
      readonly startReason?: string
      /** Set when the program itself has exited. */
      readonly exit?: ExitReport
    }
  /** Exited by itself; its remaining processes are being stopped. */
  | {
      readonly is: 'ending'
      readonly program: RunningProgram
      readonly exit: ExitReport
      readonly uptimeMs: number
    }
  /** Without `retryAtMs` it stays down until it is started by hand. */
  | {
      readonly is: 'crashed'
      readonly exit: ExitReport
      readonly retryAtMs?: number
      readonly givenUp?: string
    }

/** Returns the restart time of a process that is down, in milliseconds since the epoch; undefined if there is none. */
export function retryAtOf(state: ProcessState): number | undefined {
  return state.is === 'stopped' || state.is === 'crashed' ? state.retryAtMs : undefined
}

/** Statuses of the specification. */
export const STATUSES = ['running', 'stopped', 'starting', 'stopping', 'crashed'] as const
/** Status of a process, as the API names it. */
export type ProcessStatus = (typeof STATUSES)[number]

const STATUS_OF_STATE: Readonly<Record<ProcessState['is'], ProcessStatus>> = {
  stopped: 'stopped',
  waiting: 'starting',
  starting: 'starting',
  running: 'running',
  stopping: 'stopping',
  ending: 'stopping',
  crashed: 'crashed',
}

/** Returns the status that a state is reported as. */
export function statusOf(state: ProcessState): ProcessStatus {
  return STATUS_OF_STATE[state.is]
}

/** Transition table that every change is checked against. */
const FOLLOWERS: Readonly<Record<ProcessState['is'], readonly ProcessState['is'][]>> = {
  stopped: ['waiting', 'starting', 'running', 'crashed', 'stopped'],
  waiting: ['starting', 'running', 'stopped', 'crashed', 'waiting'],
  starting: ['running', 'stopping', 'ending', 'crashed', 'stopped'],
  // A next run replaces it.
  running: ['running', 'starting', 'stopping', 'ending', 'crashed', 'stopped'],
  stopping: ['stopped', 'stopping', 'waiting', 'starting', 'running', 'crashed'],
  ending: ['crashed', 'stopped', 'stopping'],
  crashed: ['waiting', 'starting', 'running', 'stopped', 'crashed'],
}

/** Returns whether the transition table has a transition. */
export function isAllowed(from: ProcessState['is'], to: ProcessState['is']): boolean {
  return FOLLOWERS[from].includes(to)
}

/** Returns the exit status as reported by a shell. */
export function exitStatusOf({ code, signal }: ExitReport): number {
  if (signal !== undefined) return 128 + constants.signals[signal]
  return code ?? 1
}

/** Describes an exit: `status 1`, `signal SIGKILL`, `signal SIGKILL: out of memory (limits.memory)`. */
export function describeExit({ code, signal, isOutOfMemory }: ExitReport): string {
  const cause = isOutOfMemory === true ? ': out of memory (limits.memory)' : ''
  if (signal !== undefined) return `signal ${signal}${cause}`
  return code === undefined ? 'an unknown status' : `status ${code}${cause}`
}
