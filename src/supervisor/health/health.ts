export const HEALTHS = ['healthy', 'unhealthy', 'unknown'] as const
type Health = (typeof HEALTHS)[number]

/** What the last checks of a process said. */
export interface HealthReport {
  readonly health: Health
  readonly lastCheckMs: number | undefined
  readonly lastOutput: string
  readonly consecutiveFailures: number
}

export const UNCHECKED: HealthReport = Object.freeze({
  health: 'unknown',
  lastCheckMs: undefined,
  lastOutput: '',
  consecutiveFailures: 0,
})

/** What one check said. */
export interface ProbeResult {
  readonly isHealthy: boolean
  readonly output: string
}
