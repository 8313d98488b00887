import { expect, test } from 'vitest'
import type { WireSummary } from '../../../../../src/supervisor/api/process.ts'
import { processTable } from '../../../../../src/supervisor/faces/cli/commands/processes.ts'

const summary = (name: string, more: Partial<WireSummary> = {}): WireSummary => ({
  name,
  status: 'stopped',
  pid: 0,
  uptime_seconds: 0,
  restarts: 0,
  health: 'unknown',
  reason: 'not started yet',
  next_run: null,
  tty: false,
  groups: [],
  base: name,
  depends_on: {},
  ...more,
})

test('ps did not show when a scheduled process runs next', () => {
  const nowMs = Date.UTC(2026, 0, 1)
  const nextRun = new Date(nowMs + 3_723_500).toISOString()
  expect(processTable([summary('web'), summary('report', { next_run: nextRun })], nowMs)).toBe(
    `NAME    STATUS   PID  UPTIME  RESTARTS  HEALTH   NEXT RUN  WHY
web     stopped  -    -       0         unknown  -         not started yet
report  stopped  -    -       0         unknown  in 1h 2m  not started yet`,
  )
  expect(processTable([summary('web')], nowMs)).not.toContain('NEXT RUN')
})
