import type { LogLine } from '../log/log-line.ts'
import type { Dependency } from '../process/process-table.ts'
import type { SupervisedProcess } from '../process/supervised-process.ts'
import type { CapturedRequest } from '../proxy/captured-request.ts'
import type { ExpectedPort } from './expected-ports.ts'

/** Facts about a process that explain its state. */
export interface Facts {
  readonly process: SupervisedProcess
  /** The end of its last run in words. */
  readonly lastExit: string | undefined
  /** Its last lines, shortened, without control sequences. */
  readonly lines: readonly LogLine[]
  readonly dependencies: readonly Dependency[]
  readonly ports: readonly ExpectedPort[]
  readonly nextAttemptMs: number | undefined
  readonly nextRunMs: number | undefined
  /** Its last requests with a status from 500 on, oldest first. */
  readonly failedRequests: readonly CapturedRequest[]
}
