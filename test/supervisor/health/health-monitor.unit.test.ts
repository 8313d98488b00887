import { expect, test } from 'vitest'
import type { HealthCheck } from '../../../src/supervisor/process-spec.ts'
import { HealthMonitor } from '../../../src/supervisor/health/health-monitor.ts'
import { FakeClock } from '../../support/fake-clock.ts'

const CHECK = {
  probe: { kind: 'tcp', host: 'x', port: 1 },
  intervalMs: 10_000,
  timeoutMs: 1_000,
  retries: 2,
  initialDelayMs: undefined,
  startIntervalMs: 1_000,
  startPeriodMs: 0,
  onUnhealthy: 'none',
} as const

/** Runs checks that fail for 60 s; returns the seconds of the checks, and of the report that it is unhealthy. */
async function failing(check: Partial<HealthCheck>) {
  const clock = new FakeClock()
  const startMs = clock.nowMs()
  const seconds = () => (clock.nowMs() - startMs) / 1_000
  const checks: number[] = []
  let unhealthyAt: number | undefined
  const probe = () => {
    checks.push(seconds())
    return Promise.resolve({ isHealthy: false, output: 'no' })
  }
  const monitor = new HealthMonitor({ ...CHECK, ...check }, probe, clock, ({ health }) => {
    if (health === 'unhealthy') unhealthyAt ??= seconds()
  })
  for (let second = 0; second < 60; second++) await clock.pass(1_000)
  monitor.stop()
  return { checks, unhealthyAt }
}

test('S6 no check runs before the initial delay', async () => {
  expect(await failing({ initialDelayMs: 4_000 })).toEqual({
    checks: [4, 5, 15, 25, 35, 45, 55],
    unhealthyAt: 5,
  })
})

test('S6 a process-compose process was ended by checks of each second instead of its period', async () => {
  const check = { intervalMs: 3_000, startIntervalMs: 3_000, initialDelayMs: 2_000, retries: 3 }
  const { checks, unhealthyAt } = await failing(check)
  expect(checks.slice(0, 4)).toEqual([2, 5, 8, 11])
  expect(unhealthyAt).toBe(8)
})

test('a starting process is checked each second, and failures in the start period do not count', async () => {
  const { checks, unhealthyAt } = await failing({ startPeriodMs: 4_000 })
  expect(checks.slice(0, 6)).toEqual([1, 2, 3, 4, 5, 15])
  expect(unhealthyAt).toBe(5)
})
