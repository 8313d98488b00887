/** Health of a process, as the API names it. */
export const HEALTHS = ['healthy', 'unhealthy', 'unknown'] as const
type Health = (typeof HEALTHS)[number]

/** Result of the last checks of a process. */
export interface HealthReport {
  readonly health: Health
  readonly lastCheckMs: number | undefined
  readonly lastOutput: string
  /** Whether the last check failed, even if the failure does not count yet. */
  readonly hasFailed: boolean
  readonly consecutiveFailures: number
}

/** Report of a process that has not been checked yet. */
export const UNCHECKED: HealthReport = Object.freeze({
  health: 'unknown',
  lastCheckMs: undefined,
  lastOutput: '',
  hasFailed: false,
  consecutiveFailures: 0,
})

/** Result of one check. */
export interface ProbeResult {
  readonly isHealthy: boolean
  readonly output: string
}
