import type { AlarmClock } from '../../lib/clock/clock.ts'
import type { ProcessLogs } from '../log/process-logs.ts'
import { queryLogs } from '../log/query-logs.ts'
import { type ProcessState, retryAtOf } from '../process/process-state.ts'
import type { ProcessTable } from '../process/process-table.ts'
import { nextRunMs } from '../process/schedule.ts'
import type { SupervisedProcess } from '../process/supervised-process.ts'
import type { CapturedRequest } from '../proxy/captured-request.ts'
import { advise } from './advise.ts'
import { describePastExit } from './describe-exit.ts'
import { findExpectedPorts } from './expected-ports.ts'
import type { Facts } from './facts.ts'

const SHOWN_LINES = 20
const MAX_LINE_LENGTH = 1_000
const SHOWN_REQUESTS = 5
const FIRST_FAILED_STATUS = 500

/** An explanation of a process's state. */
export interface Diagnosis extends Facts {
  readonly reason: string
  /** Steps that may help, most important first. */
  readonly advice: readonly string[]
}

/** Sources of a diagnosis. */
export interface DiagnosisParts {
  readonly table: ProcessTable
  readonly logs: ProcessLogs
  readonly instance: string
  readonly clock: AlarmClock
  /** Requests that went through the proxy, oldest first. */
  readonly requests: readonly CapturedRequest[]
}

/** Explains why a process is in its state. */
export async function diagnose(process: SupervisedProcess, parts: DiagnosisParts): Promise<Diagnosis> {
  const { table, logs, clock, requests } = parts
  const { spec, history, state } = process
  const { lines } = await queryLogs(logs, { processes: [spec.name], lines: SHOWN_LINES, isPlain: true })
  const { lastExit } = history
  const facts: Facts = {
    process,
    lastExit: lastExit && describePastExit(lastExit, spec),
    lines: lines.map((line) => ({ ...line, text: line.text.slice(0, MAX_LINE_LENGTH) })),
    dependencies: table.dependenciesOf(spec),
    ports: findExpectedPorts(
      process.runSpec,
      lines.map(({ text }) => text),
      parts,
    ),
    nextAttemptMs: retryAtOf(state),
    nextRunMs: spec.schedule === undefined ? undefined : nextRunMs(spec.schedule, clock.wallMs()),
    failedRequests: requests
      .filter((each) => each.process === spec.name && each.statusCode >= FIRST_FAILED_STATUS)
      .slice(-SHOWN_REQUESTS),
  }
  return { ...facts, reason: reasonOf(state, facts), advice: advise(facts) }
}

function reasonOf(state: ProcessState, { process, lastExit, nextAttemptMs }: Facts): string {
  const { history, health, spec } = process
  const lastReason = history.changes.at(-1)?.reason ?? 'not started yet'
  if (state.is === 'waiting') return state.for
  if (state.is === 'starting')
    return health.consecutiveFailures === 0
      ? 'its health check has not succeeded yet'
      : `its health check has failed ${health.consecutiveFailures} of ${spec.healthCheck?.retries} times`
  if (state.is === 'running' && health.health === 'unhealthy') return 'running, but its health check fails'
  if (state.is !== 'stopped' && state.is !== 'crashed') return lastReason
  if (state.exit === undefined || lastExit === undefined) return lastReason
  if (state.givenUp !== undefined) return `${lastExit}; given up after ${state.givenUp}`
  return nextAttemptMs === undefined ? lastExit : `${lastExit}; it will be started again`
}
