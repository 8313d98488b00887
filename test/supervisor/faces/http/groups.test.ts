import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { readEventStream } from '../../../support/http/event-stream.ts'
import { startSupervisor, type TestSupervisor } from '../../../support/supervisor/supervisor.ts'
import { waitFor } from '../../../support/wait-for.ts'

const LONG = { cmd: 'exec sleep 1000' }

async function statuses(
  { ask }: Pick<TestSupervisor, 'ask'>,
  query = '',
): Promise<Readonly<Record<string, string>>> {
  const { body } = await ask(`/processes${query}`)
  return Object.fromEntries(body.processes.map((each: any) => [each.name, each.status]))
}

test('a group is listed, started, stopped and restarted together', async () => {
  const started = await startSupervisor({
    db: { ...LONG, groups: ['backend', 'data'] },
    api: { ...LONG, groups: ['backend'], replicas: 2, depends_on: { db: 'started' } },
    page: { ...LONG, depends_on: { api: 'started' } },
  })
  const { ask, until } = started
  const act = async (action: string) => (await ask(`/groups/backend/${action}`, 'POST')).body
  await until('page', 'running')
  expect((await ask('/processes')).body.processes.map((each: any) => each.groups)).toEqual([
    ['backend', 'data'],
    ['backend'],
    ['backend'],
    [],
  ])
  expect(await statuses(started, '?group=data')).toEqual({ db: 'running' })

  expect(await act('stop')).toEqual({ success: true, processes: ['db', 'api-1', 'api-2'] })
  expect(await statuses(started)).toEqual({
    db: 'stopped',
    'api-1': 'stopped',
    'api-2': 'stopped',
    page: 'running',
  })
  // Again, because a group in part up must not be an error.
  expect(await act('stop')).toMatchObject({ success: true })
  await ask('/processes/db/start', 'POST')
  expect(await act('start')).toEqual({ success: true, processes: ['db', 'api-1', 'api-2'] })
  expect(await act('start')).toMatchObject({ success: true })
  await until('api-2', 'running')

  const pids = async (): Promise<readonly number[]> =>
    (await ask('/processes')).body.processes.map(({ pid }: any) => pid)
  const before = await pids()
  expect(await act('restart')).toMatchObject({ success: true })
  for (const name of ['db', 'api-1', 'api-2']) await until(name, 'running')
  const after = await pids()
  expect(after.map((pid, at) => pid === before[at])).toEqual([false, false, false, true])
  expect((await ask('/processes')).body.processes.map(({ restarts }: any) => restarts)).toEqual([1, 1, 1, 0])
})

test('a group stops in the order of dependencies, also of those through other processes', async () => {
  const slow = (name: string) => ({
    cmd: `trap 'echo ${name} >> order; exit 0' TERM; echo up; while :; do sleep 0.02; done`,
    healthcheck: { log: 'up' },
  })
  const started = await startSupervisor({
    // Listed before those that depend on them, and with the slowest stop last.
    db: { ...slow('db'), groups: ['all'] },
    between: { ...LONG, depends_on: { db: 'started' } },
    web: {
      ...slow('web'),
      cmd: slow('web').cmd.replace('echo web', 'sleep 0.3; echo web'),
      groups: ['all'],
      depends_on: { between: 'started' },
    },
  })
  await started.until('web', 'running')
  await started.ask('/groups/all/restart', 'POST')
  await started.until('web', 'running')
  await started.ask('/groups/all/stop', 'POST')
  expect(readFileSync(`${started.dir}/order`, 'utf8')).toBe('web\ndb\nweb\ndb\n')
  expect(await statuses(started)).toEqual({ db: 'stopped', between: 'running', web: 'stopped' })
})

test('starting a group starts what it depends on, and reports what cannot be started', async () => {
  const off = { autostart: false, restart: 'never' }
  const started = await startSupervisor({
    needed: { ...LONG, ...off },
    good: { ...LONG, ...off, groups: ['some'], depends_on: { needed: 'started' } },
    bad: { cmd: ['/does/not/exist'], ...off, groups: ['some'] },
    other: { ...LONG, ...off },
  })
  for (const action of ['start', 'restart']) {
    const { status, body } = await started.ask(`/groups/some/${action}`, 'POST')
    expect([status, body.code]).toEqual([500, 'PROCESS_START_FAILED'])
    expect(body.error).toMatch(
      /^1 of 2 processes of group "some" could not be started: bad: .*\/does\/not\/exist/,
    )
    expect(await statuses(started)).toEqual({
      needed: 'running',
      good: 'running',
      bad: 'crashed',
      other: 'stopped',
    })
  }
})

test('lines are filtered by group, together with named processes', async () => {
  const say = (text: string, more = {}) => ({ cmd: `echo ${text}; exec sleep 1000`, ...more })
  const { ask, url } = await startSupervisor({
    a: say('one', { groups: ['x'] }),
    b: say('two', { groups: ['x', 'y'] }),
    c: say('three'),
    d: say('four'),
  })
  await waitFor('the lines', async () => (await ask('/logs')).body.total_count === 4)
  const lines = async (query: string) =>
    (await ask(`/logs?${query}`)).body.logs.map(({ line }: any) => line).toSorted()
  expect(await lines('group=x')).toEqual(['one', 'two'])
  expect(await lines('group=y&process=c')).toEqual(['three', 'two'])
  const stream = await readEventStream(`${url}/api/v1/logs/stream?group=y`)
  await ask('/groups/x/restart', 'POST')
  const [event] = await stream.first(1)
  expect(event?.data).toMatchObject({ process: 'b', line: 'two' })
})

test('an unknown group is an error that lists the known ones', async () => {
  const { ask } = await startSupervisor({ a: { ...LONG, groups: ['y', 'x'] } })
  for (const [path, method] of [
    ['/groups/z/start', 'POST'],
    ['/groups/z/stop', 'POST'],
    ['/groups/z/restart', 'POST'],
    ['/processes?group=z', 'GET'],
    ['/logs?group=z', 'GET'],
    ['/logs/stream?group=z', 'GET'],
  ] as const)
    expect(await ask(path, method), path).toEqual({
      status: 404,
      body: { code: 'GROUP_NOT_FOUND', error: 'group "z" does not exist; the groups are x, y' },
    })
  const none = await startSupervisor({ a: LONG })
  expect((await none.ask('/groups/__proto__/stop', 'POST')).body.error).toBe(
    'group "__proto__" does not exist: no process has "groups"',
  )
})
