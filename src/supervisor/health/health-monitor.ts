import { messageOf } from '../../lib/errors/message.ts'
import type { AlarmClock } from '../../lib/clock/clock.ts'
import type { HealthCheck } from '../process-spec.ts'
import { type HealthReport, type ProbeResult, UNCHECKED } from './health.ts'

/** Runs one health check. */
export type Probe = (signal: AbortSignal) => Promise<ProbeResult>

/** Maximum stored output of a check. */
const MAX_OUTPUT_LENGTH = 4_096

/**
 * Checks one run of a process, one check at a time, the first after the initial delay. Reports each result.
 */
export class HealthMonitor {
  readonly #check: HealthCheck
  readonly #probe: Probe
  readonly #clock: AlarmClock
  readonly #onReport: (report: HealthReport) => void
  readonly #startedMs: number
  readonly #controller = new AbortController()
  #report = UNCHECKED
  #cancel: () => void

  constructor(check: HealthCheck, probe: Probe, clock: AlarmClock, onReport: (report: HealthReport) => void) {
    this.#check = check
    this.#probe = probe
    this.#clock = clock
    this.#onReport = onReport
    this.#startedMs = clock.nowMs()
    this.#cancel = clock.after(check.initialDelayMs ?? check.startIntervalMs, () => void this.#run())
  }

  stop(): void {
    this.#cancel()
    this.#controller.abort()
  }

  async #run(): Promise<void> {
    const limit = new AbortController()
    const cancelLimit = this.#clock.after(this.#check.timeoutMs, () => limit.abort())
    const result = await this.#probe(AbortSignal.any([limit.signal, this.#controller.signal])).catch(
      (error: unknown): ProbeResult => ({
        isHealthy: false,
        output: limit.signal.aborted ? `no response within ${this.#check.timeoutMs} ms` : messageOf(error),
      }),
    )
    cancelLimit()
    if (this.#controller.signal.aborted) return
    this.#take(result)
    // A starting process is checked more often, because others wait for it.
    const { startIntervalMs, intervalMs } = this.#check
    const waitMs = this.#report.health === 'unknown' ? startIntervalMs : intervalMs
    this.#cancel = this.#clock.after(waitMs, () => void this.#run())
  }

  #take({ isHealthy, output }: ProbeResult): void {
    const isStarting =
      this.#report.health === 'unknown' && this.#clock.nowMs() - this.#startedMs < this.#check.startPeriodMs
    const failures = isHealthy || isStarting ? 0 : this.#report.consecutiveFailures + 1
    const isUnhealthy = failures >= this.#check.retries
    this.#report = {
      health: isHealthy ? 'healthy' : isUnhealthy ? 'unhealthy' : this.#report.health,
      lastCheckMs: this.#clock.wallMs(),
      lastOutput: output.slice(0, MAX_OUTPUT_LENGTH),
      hasFailed: !isHealthy,
      consecutiveFailures: failures,
    }
    this.#onReport(this.#report)
  }
}
