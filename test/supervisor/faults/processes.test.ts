import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { startSupervisor } from '../../support/supervisor/supervisor.ts'
import { waitFor } from '../../support/wait-for.ts'

/** Finds processes whose arguments end with a mark, which excludes their shell. */
function withMark(mark: string): readonly string[] {
  return execFileSync('ps', ['-eo', 'pid=,stat=,args='], { encoding: 'utf8' })
    .split('\n')
    .filter((line) => line.trimEnd().endsWith(mark) && !/^\s*\d+ Z/.test(line) && !line.includes('ps -eo'))
}

const mark = (): string => `7${Math.floor(Math.random() * 1e8)}`

test('F23 a process that ignores SIGTERM is killed after its timeout', async () => {
  const own = mark()
  const { ask, until } = await startSupervisor({
    deaf: { cmd: `trap '' TERM; echo up; sleep ${own}; true`, stop_timeout: '300ms' },
  })
  await until('deaf', 'running')
  await waitFor('a line', async () => (await ask('/logs')).body.total_count === 1)
  const beganMs = performance.now()
  expect((await ask('/processes/deaf/stop', 'POST')).status).toBe(200)
  expect(performance.now() - beganMs).toBeGreaterThan(280)
  expect(withMark(own)).toEqual([])
})

describe('F24 nothing is left after a stop', () => {
  test.each([
    [
      'members of its group that ignore SIGTERM',
      (own: string) => `(trap '' TERM; sleep ${own}) & echo up; sleep 1000`,
    ],
    [
      'daemons in separate sessions',
      (own: string) => `setsid sleep ${own} & setsid -f sleep ${own}; echo up; sleep 1000`,
    ],
    [
      'daemons of daemons',
      (own: string) => `setsid -f sh -c 'setsid -f sleep ${own}; sleep ${own}'; echo up; exec sleep 1000`,
    ],
  ])('F24 a stop kills %s', async (_what, script) => {
    const own = mark()
    const { ask } = await startSupervisor({ tree: { cmd: script(own), stop_timeout: '500ms' } })
    await waitFor('a line', async () => (await ask('/logs')).body.total_count === 1)
    await waitFor('its children', () => withMark(`sleep ${own}`).length > 0)
    expect((await ask('/processes/tree/stop', 'POST')).status).toBe(200)
    expect(withMark(`sleep ${own}`)).toEqual([])
  })

  test('F24 leftovers of a process that exited are stopped before it starts again', async () => {
    const own = mark()
    const { ask } = await startSupervisor({
      tree: { cmd: `setsid -f sleep ${own}; sleep 0.1; exit 3`, stop_timeout: '500ms' },
    })
    await waitFor('a restart', async () => (await ask('/processes/tree')).body.restarts > 0)
    expect(withMark(`sleep ${own}`).length).toBeLessThanOrEqual(1)
    expect((await ask('/processes/tree')).body.history.map((each: any) => each.status)).toContain('crashed')
  })
})

test('a process waits for its dependencies and starts when its tasks complete', async () => {
  const { ask, until } = await startSupervisor({
    db: {
      cmd: 'sleep 0.3; touch ready; exec sleep 1000',
      healthcheck: { exec: 'test -e ready', interval: '50ms' },
    },
    task: { cmd: 'test -e ready && echo done', restart: 'never', depends_on: { db: 'healthy' } },
    web: { cmd: 'exec sleep 1000', depends_on: { task: 'completed', db: 'started' } },
  })
  expect((await ask('/processes/web')).body).toMatchObject({ status: 'starting', pid: 0 })
  await until('web', 'running')
  // A running process reports no dependency.
  expect((await ask('/processes/web')).body.reason).toBe('its dependencies are ready')
  expect((await ask('/processes/db')).body).toMatchObject({
    status: 'running',
    health: 'healthy',
    healthcheck: { enabled: true, consecutive_failures: 0 },
  })
  expect((await ask('/processes/task')).body).toMatchObject({
    status: 'stopped',
    reason: 'exited with status 0',
  })
})

test('an unhealthy process is reported, and restarted if configured', async () => {
  const check = { exec: 'echo not well; exit 1', interval: '30ms', retries: 2 }
  const { ask, until } = await startSupervisor({
    told: { cmd: 'exec sleep 1000', healthcheck: check },
    again: { cmd: 'exec sleep 1000', healthcheck: { ...check, restart: true } },
  })
  await until('told', 'running')
  const { body } = await ask('/processes/told')
  expect(body).toMatchObject({ health: 'unhealthy', healthcheck: { last_output: 'not well' } })
  expect(body.healthcheck.last_check).toMatch(/\.\d{3}Z$/)
  await waitFor('a restart', async () => (await ask('/processes/again')).body.restarts > 0)
})

test('limits, environment, directory, replicas and their ports are as configured', async () => {
  const { ask, until, dir } = await startSupervisor({
    web: {
      cmd: 'echo "$(ulimit -n) $PORT $GREETING $(pwd) $SUPERVISOR_REPLICA"',
      restart: 'never',
      limits: { nofile: 77 },
      replicas: 2,
      env: { GREETING: '${NAME:-nobody}-$$' },
      proxy: { port: 4000 },
    },
  })
  await until('web-1', 'stopped')
  await until('web-2', 'stopped')
  await waitFor('two lines', async () => (await ask('/logs')).body.total_count === 2)
  const lines = (await ask('/logs')).body.logs.map((each: any) => each.line).toSorted()
  expect(lines).toEqual([`77 4000 nobody-$ ${dir} 1`, `77 4001 nobody-$ ${dir} 2`])
})

test('log files contain everything a process printed', async () => {
  const { until, dir } = await startSupervisor({
    count: { cmd: 'seq 1 20000', restart: 'never', log: { dir: 'logs', buffer_lines: 10 } },
  })
  await until('count', 'stopped')
  const file = join(dir, 'logs', 'count.log')
  const expected = `${Array.from({ length: 20_000 }, (_, i) => i + 1).join('\n')}\n`
  await waitFor('all lines', () => readFileSync(file, 'utf8').length === expected.length)
  expect(readFileSync(file, 'utf8')).toBe(expected)
})
