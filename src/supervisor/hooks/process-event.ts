import { retryAtOf, statusOf } from '../process/process-state.ts'
import type { RunningProgram } from '../process/process-runner.ts'
import type { PastExit } from '../process/run-history.ts'
import type { SupervisedProcess } from '../process/supervised-process.ts'
import type { EventName } from './hook.ts'

/** An event of a process. */
export interface ProcessEvent {
  readonly event: EventName
  readonly process: string
  /** Name in the configuration, shared by replicas. */
  readonly base: string
  readonly timeMs: number
  readonly status: string
  readonly reason: string
  /** 0 if it is not running. */
  readonly pid: number
  readonly restarts: number
  /** End of its last run. */
  readonly exit: PastExit | undefined
}

/** State of a process after its last change. */
interface Seen {
  readonly program: RunningProgram | undefined
  readonly exit: PastExit | undefined
  readonly health: string
  readonly restarts: number
  readonly hasFailed: boolean
}

const NOTHING: Seen = {
  program: undefined,
  exit: undefined,
  health: 'unknown',
  restarts: 0,
  hasFailed: false,
}

/** Derives events from the changes of processes. */
export class EventDetector {
  readonly #seen = new WeakMap<SupervisedProcess, Seen>()

  /** Returns the events since the last change of a process, in the order in which they happened. */
  detect(process: SupervisedProcess): readonly ProcessEvent[] {
    const before = this.#seen.get(process) ?? NOTHING
    const { spec, state, program, health, restarts, history } = process
    const hasFailed = state.is === 'crashed' && retryAtOf(state) === undefined
    const now: Seen = { program, exit: history.lastExit, health: health.health, restarts, hasFailed }
    this.#seen.set(process, now)
    const isNewRun = program !== undefined && program !== before.program
    const events: readonly (EventName | false)[] = [
      now.exit !== before.exit && 'exited',
      isNewRun && (restarts > before.restarts ? 'restarted' : 'started'),
      (isNewRun || now.health !== before.health) && health.health !== 'unknown' && health.health,
      hasFailed && !before.hasFailed && 'failed',
    ]
    const last = history.changes.at(-1)
    return events
      .filter((event) => event !== false)
      .map((event) => ({
        event,
        process: spec.name,
        base: spec.base,
        timeMs: last?.atMs ?? 0,
        status: statusOf(state),
        reason: last?.reason ?? '',
        pid: program?.pid ?? 0,
        restarts,
        exit: history.lastExit,
      }))
  }
}
