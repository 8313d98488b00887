import { expect, test } from 'vitest'
import { formatWhy } from '../../../../src/supervisor/faces/cli/commands/why.ts'
import type { WireWhy } from '../../../../src/supervisor/api/why.ts'

const NOW_MS = Date.parse('2026-01-01T00:01:00.000Z')
const EARLIER = '2026-01-01T00:00:00.000Z'

const why: WireWhy = {
  name: 'web',
  status: 'crashed',
  health: 'unknown',
  pid: 0,
  reason: 'exited with status 1; it will be started again',
  since: EARLIER,
  last_exit: {
    timestamp: EARLIER,
    description: 'exited with status 1',
    status: 1,
    signal: null,
    out_of_memory: false,
    requested: false,
    uptime_seconds: 3,
  },
  output: [
    { timestamp: EARLIER, process: 'web', stream: 'stderr', line: 'in use\u001b]0;title\u0007\u0008' },
  ],
  healthcheck: {
    check: 'tcp 127.0.0.1:80',
    consecutive_failures: 1,
    retries: 3,
    failures: [{ timestamp: EARLIER, output: 'connect ECONNREFUSED' }],
  },
  dependencies: [
    {
      name: 'db',
      condition: 'healthy',
      met: false,
      status: 'starting',
      health: 'unknown',
      reason: 'requested',
    },
    {
      name: 'cache',
      condition: 'started',
      met: true,
      status: 'running',
      health: 'unknown',
      reason: 'requested',
    },
  ],
  ports: [
    {
      port: 80,
      source: 'proxy.port',
      holder: { pid: 7, command: 'nginx', user: 'www', process: null },
    },
    { port: 81, source: 'env.PORT', holder: { pid: null, command: null, user: 'www', process: null } },
    { port: 82, source: 'output', holder: null },
  ],
  restarts: 2,
  starts: [{ timestamp: EARLIER, reason: 'requested' }],
  next_attempt: '2026-01-01T00:01:04.000Z',
  next_run: null,
  failed_requests: [],
  advice: ['stop it'],
}

test('the text of an explanation has one fact per line, with ages instead of times', () => {
  expect(formatWhy(why, NOW_MS)).toBe(`web is crashed: exited with status 1; it will be started again

since         1m ago
next attempt  in 4s
last exit     exited with status 1, 1m ago, after 3s
restarts      2
starts        1m ago: requested
waits for     db to be healthy: not yet, it is starting (requested)
              cache to be started: ok
check         tcp 127.0.0.1:80: unknown, 1 failure in a row of 3
              failed 1m ago: connect ECONNREFUSED
port          80 (proxy.port): process 7 (nginx) of user www listens
              81 (env.PORT): a program of user www listens
              82 (output): nothing listens

Last output:
  in use\uFFFD

What to do:
  stop it`)
})

test('the text of an explanation leaves out what does not apply', () => {
  const fine: WireWhy = {
    ...why,
    status: 'stopped',
    reason: 'not started yet',
    since: null,
    last_exit: null,
    output: [],
    healthcheck: null,
    dependencies: [],
    ports: [],
    restarts: 0,
    starts: [],
    next_attempt: null,
    advice: [],
  }
  expect(formatWhy(fine, NOW_MS)).toBe('web is stopped: not started yet')
})
