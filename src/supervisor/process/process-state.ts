import { constants } from 'node:os'
import type { ExitReport, RunningProgram } from './process-runner.ts'

/** The one state of a process; what moves it on is in `supervised-process.ts`. */
export type ProcessState =
  /** It ended by itself where there is an exit. With a time to retry it is started again then. */
  | { readonly is: 'stopped'; readonly exit?: ExitReport; readonly retryAtMs?: number }
  /** For what it depends on. */
  | { readonly is: 'waiting'; readonly for: string }
  /** It runs, and has not been found healthy yet. */
  | { readonly is: 'starting'; readonly program: RunningProgram; readonly sinceMs: number }
  | { readonly is: 'running'; readonly program: RunningProgram; readonly sinceMs: number }
  | {
      readonly is: 'stopping'
      readonly program: RunningProgram
      readonly sinceMs: number
      readonly next: 'stopped' | 'start'
    }
  /** It ended unasked, and what it left behind is being ended. */
  | {
      readonly is: 'ending'
      readonly program: RunningProgram
      readonly exit: ExitReport
      readonly uptimeMs: number
    }
  /** Without a time to retry it stays so until it is started by hand. */
  | { readonly is: 'crashed'; readonly exit: ExitReport; readonly retryAtMs?: number }

/** Returns when a process that is down is started again, in milliseconds since the epoch; undefined when it is not. */
export function retryAtOf(state: ProcessState): number | undefined {
  return state.is === 'stopped' || state.is === 'crashed' ? state.retryAtMs : undefined
}

/** The statuses of the specification. */
export const STATUSES = ['running', 'stopped', 'starting', 'stopping', 'crashed'] as const
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

export function statusOf(state: ProcessState): ProcessStatus {
  return STATUS_OF_STATE[state.is]
}

/** What may follow what; the table that every change is held against. */
const FOLLOWERS: Readonly<Record<ProcessState['is'], readonly ProcessState['is'][]>> = {
  stopped: ['waiting', 'starting', 'running', 'crashed', 'stopped'],
  waiting: ['starting', 'running', 'stopped', 'crashed', 'waiting'],
  starting: ['running', 'stopping', 'ending', 'crashed', 'stopped'],
  running: ['stopping', 'ending', 'crashed', 'stopped'],
  stopping: ['stopped', 'stopping', 'waiting', 'starting', 'running', 'crashed'],
  ending: ['crashed', 'stopped', 'stopping'],
  crashed: ['waiting', 'starting', 'running', 'stopped', 'crashed'],
}

export function isAllowed(from: ProcessState['is'], to: ProcessState['is']): boolean {
  return FOLLOWERS[from].includes(to)
}

/** Returns the exit status that a shell would report. */
export function exitStatusOf({ code, signal }: ExitReport): number {
  if (signal !== undefined) return 128 + constants.signals[signal]
  return code ?? 1
}

/** `code 1`, `signal SIGKILL`, `signal SIGKILL: out of memory (limits.memory)`. */
export function describeExit({ code, signal, isOutOfMemory }: ExitReport): string {
  const cause = isOutOfMemory === true ? ': out of memory (limits.memory)' : ''
  if (signal !== undefined) return `signal ${signal}${cause}`
  return code === undefined ? 'an unknown status' : `code ${code}${cause}`
}
