import { existsSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { startSupervisor } from '../../support/supervisor/supervisor.ts'
import { supervisorUser } from '../../support/supervisor/supervisor-cli.ts'
import { tempDir } from '../../support/temp-dir.ts'

const forever = 'exec sleep 1000'

test.each([
  ['a failure', { cmd: 'exit 3', restart: 'never', abort_on: ['failure'] }, 3],
  ['a signal', { cmd: 'kill -9 $$', restart: 'never', abort_on: ['failure'] }, 137],
  ['a success', { cmd: 'exit 0', restart: 'never', abort_on: ['success'] }, 0],
  ['a program that is not there', { cmd: ['no-such-program'], abort_on: ['failure'] }, 1],
  ['the last restart', { cmd: 'exit 4', restart_delay: '10ms', max_restarts: 2, abort_on: ['failure'] }, 4],
])('%s stops all processes with its exit status if configured', async (_what, one, status) => {
  const { running, ask } = await startSupervisor({ one, other: { cmd: forever } })
  expect(await running.askedToStop).toBe(status)
  expect((await ask('/processes/other')).body.status).toBe('running')
})

test('the cause was not said when the exit of a process stopped all', async () => {
  const { running, until } = await startSupervisor({
    one: {
      cmd: 'while ! [ -e go ]; do sleep 0.01; done; exit 3',
      abort_on: ['failure'],
      restart: 'never',
      cwd: '.',
    },
    other: { cmd: forever },
  })
  const { table } = running.supervisor
  await until('other', 'running')
  writeFileSync(join(table.get('one').spec.cwd, 'go'), '')
  await running.askedToStop
  await running.stop()
  expect(
    table
      .get('other')
      .history.changes.map(({ reason }) => reason)
      .slice(-2),
  ).toEqual(['"one" exited with status 3', 'exited with signal SIGTERM'])
})

test('a process that can never start stops all of them if configured', async () => {
  const { running } = await startSupervisor({
    task: { cmd: 'exit 1', restart: 'never' },
    first: { cmd: 'exit 0', depends_on: { task: 'completed' } },
    second: { cmd: 'exit 0', depends_on: { first: 'completed' }, abort_on: ['skipped'] },
    other: { cmd: forever },
  })
  expect(await running.askedToStop).toBe(1)
})

test('exit_when_done exits although some processes never start', async () => {
  const { running, ask } = await startSupervisor(
    {
      failed: { cmd: 'exit 1', restart: 'never' },
      skipped: { cmd: 'echo skipped', depends_on: { failed: 'completed' } },
      after: { cmd: 'echo after', restart: 'never', depends_on: { failed: 'ended', skipped: 'ended' } },
      by_hand: { cmd: forever, autostart: false },
    },
    { exit_when_done: true },
  )
  expect(await running.askedToStop).toBe(0)
  // A line may be read after the exit of the process that printed it.
  await expect.poll(async () => (await ask('/logs')).body.logs).toMatchObject([{ line: 'after' }])
})

test("a process is healthy after its check's first matching line", async () => {
  const { ask, until } = await startSupervisor({
    server: {
      cmd: 'echo starting; while ! [ -e go ]; do sleep 0.01; done; echo "now READY to serve"; exec sleep 1000',
      healthcheck: { log: 'READY to' },
      cwd: '.',
    },
    client: { cmd: forever, depends_on: { server: 'healthy' } },
  })
  await until('server', 'starting')
  expect((await ask('/processes/client')).body).toMatchObject({
    status: 'starting',
    reason: 'waits for "server" to be healthy',
  })
  const { cwd } = (await ask('/processes/server')).body
  writeFileSync(join(cwd, 'go'), '')
  await until('client', 'running')
  expect((await ask('/processes/server')).body).toMatchObject({
    health: 'healthy',
    healthcheck: { last_output: 'now READY to serve' },
  })
})

test('an unhealthy process is stopped and its restart policy applies if configured', async () => {
  const healthcheck = { exec: 'false', interval: '10ms', retries: 1, end: true }
  const { ask, until } = await startSupervisor({
    once: { cmd: forever, restart: 'never', healthcheck },
    again: { cmd: forever, healthcheck, restart_delay: '10ms', max_restarts: 1 },
  })
  await until('once', 'crashed')
  const again = async () => (await ask('/processes/again')).body
  await expect.poll(again).toMatchObject({ status: 'crashed', restarts: 1 })
})

test('a stop command replaces the signal, and SIGKILL follows if it fails', async () => {
  const trapped = 'trap "" TERM; while ! [ -e end ]; do sleep 0.01; done'
  const dir = tempDir()
  const { ask, until } = await startSupervisor(
    {
      asked: { cmd: trapped, stop_command: 'touch end' },
      deaf: { cmd: 'trap "" TERM; while :; do sleep 0.01; done', stop_command: 'exit 1' },
    },
    {},
    dir,
  )
  await until('asked', 'running')
  await until('deaf', 'running')
  expect((await ask('/processes/asked/stop', 'POST')).status).toBe(200)
  expect(existsSync(join(dir, 'end'))).toBe(true)
  expect((await ask('/processes/deaf/stop', 'POST')).status).toBe(200)
})

test('a process that exited successfully is stopped, not crashed, until its restart', async () => {
  const { ask, until } = await startSupervisor({
    task: { cmd: 'exit 0', restart: 'always', restart_delay: '1000s' },
  })
  await until('task', 'stopped')
  expect((await ask('/processes/task')).body).toMatchObject({
    reason: 'exited with status 0; next start in 1000 s',
    next_retry: expect.any(String),
  })
  expect((await ask('/processes/task/stop', 'POST')).status).toBe(200)
  expect((await ask('/processes/task')).body.next_retry).toBe(null)
})

test.each([
  ['a program that is not in PATH', { cmd: ['no-such-program'] }, '"no-such-program" is not in PATH'],
  [
    'an env file that is wrong',
    { cmd: 'true', env_file: 'wrong.env' },
    'line 1 is not of the form NAME=value',
  ],
])('%s is not retried', async (_what, one, reason) => {
  const dir = tempDir()
  writeFileSync(join(dir, 'wrong.env'), 'nothing\n')
  const { ask } = await startSupervisor({ one }, {}, dir)
  expect((await ask('/processes/one')).body).toMatchObject({
    status: 'crashed',
    reason: expect.stringContaining(reason),
    next_retry: null,
  })
})

test('`up` prints the last lines and exits with the status of the process that stopped all', async () => {
  const user = await supervisorUser({
    noisy: { cmd: 'seq 1 2000; exit 7', restart: 'never', abort_on: ['failure'] },
  })
  const up = user.start()
  expect(await up.ended).toBe(7)
  expect(up.output()).toContain('noisy | 2000\n')
})
