import { cpSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { systemClock } from '../../../../src/lib/clock/clock.ts'
import { readEventStream } from '../../../support/http/event-stream.ts'
import { tempDir } from '../../../support/temp-dir.ts'
import { waitFor } from '../../../support/wait-for.ts'
import { FakeBackend } from '../../../support/workspace/backend/fake-backend.ts'
import { expectError } from '../../../support/workspace/server/expect-error.ts'
import { call, startWorkspaceServer } from '../../../support/workspace/server/test-server.ts'

/** A server with a fake engine that survives its restarts. */
async function world(settings: Readonly<Record<string, unknown>> = {}) {
  const backend = new FakeBackend()
  // Containers outlive the server.
  backend.close = () => Promise.resolve()
  let server = await startWorkspaceServer({ backends: () => [backend], settings, stateDir: tempDir() })
  onTestFinished(async () => {
    await server.stop()
    await FakeBackend.prototype.close.call(backend)
  })
  const path = (name: string) => `${server.url}/api/workspaces/${name}`
  return {
    backend,
    create: (body: object) => server.create(body),
    patch: (name: string, body: unknown) => call(path(name), 'PATCH', body),
    show: async (name: string) => (await call(path(name))).body,
    get: (route: string) => call(`${server.url}${route}`),
    remove: (name: string, query = '') => call(`${path(name)}${query}`, 'DELETE'),
    records: () => readdirSync(join(server.stateDir, 'settings')),
    record: (key: string) => join(server.stateDir, 'settings', `${key}.json`),
    restart: async () => {
      server = await server.restart()
    },
    url: () => server.url,
    stateDir: () => server.stateDir,
  }
}

const SETTINGS = ['labels', 'wake', 'idle', 'expires_at', 'expire_action', 'schedule', 'settings_error']
const settingsOf = (workspace: Readonly<Record<string, unknown>>) =>
  Object.fromEntries(SETTINGS.filter((key) => key in workspace).map((key) => [key, workspace[key]]))

test('settings change as a merge patch, appear everywhere and survive a restart', async () => {
  const { create, patch, show, restart, get } = await world()
  await create({ name: 'demo', labels: { team: 'web', temporary: '' }, wake: true })
  expect(settingsOf(await show('demo'))).toEqual({ labels: { team: 'web', temporary: '' }, wake: true })
  const steps = [
    [{ labels: { temporary: null, owner: 'ann' } }, { labels: { team: 'web', owner: 'ann' }, wake: true }],
    [{ wake: false }, { labels: { team: 'web', owner: 'ann' }, wake: false }],
    [{ wake: null, labels: null }, {}],
    [{ idle: { stop_after: '2h' } }, { idle: { stop_after: 7200 } }],
    [{ idle: { suspend_after: 0 } }, { idle: { stop_after: 7200, suspend_after: 0 } }],
    [{ idle: { stop_after: '90' } }, { idle: { stop_after: 90, suspend_after: 0 } }],
    [{ idle: { stop_after: null } }, { idle: { suspend_after: 0 } }],
    [{}, { idle: { suspend_after: 0 } }],
    [{ idle: null }, {}],
    [{ expires_at: '2199-01-31T18:00:00+01:00' }, undefined],
    [
      { expires_at: '2030-01-31T18:00:00+01:00' },
      { expires_at: '2030-01-31T17:00:00.000Z', expire_action: 'stop' },
    ],
    [{ expire_action: 'delete' }, { expires_at: '2030-01-31T17:00:00.000Z', expire_action: 'delete' }],
    [
      { expires_at: '2031-01-31T17:00:00Z' },
      { expires_at: '2031-01-31T17:00:00.000Z', expire_action: 'delete' },
    ],
    [{ expire_action: null }, { expires_at: '2031-01-31T17:00:00.000Z', expire_action: 'stop' }],
    [{ ttl_s: 0 }, {}],
    [
      { schedule: { start: 'Mon-Fri 08:00', stop: '0 19 * * 1-5', time_zone: 'Europe/Berlin' } },
      { schedule: { start: '0 8 * * 1-5', stop: '0 19 * * 1-5', time_zone: 'Europe/Berlin' } },
    ],
    [
      { schedule: { start: null, rest: 'suspend', stop: 'never' } },
      { schedule: { stop: 'never', time_zone: 'Europe/Berlin', rest: 'suspend' } },
    ],
    [{ schedule: { stop: null, time_zone: null, rest: null } }, {}],
    [{ schedule: { start: '7:05' } }, { schedule: { start: '5 7 * * *' } }],
    [{ schedule: { start: 'fri-mon, 7:05' } }, undefined],
    [{ schedule: { start: 'fri-mon,tue 7:05' } }, { schedule: { start: '5 7 * * 0,1,2,5,6' } }],
    [{ schedule: null }, {}],
    [{ labels: { a: 'b' } }, { labels: { a: 'b' } }],
  ] as const
  for (const [change, expected] of steps) {
    const { status, body } = await patch('DEMO', change)
    if (expected === undefined) {
      expect(status, JSON.stringify(change)).toBe(400)
      continue
    }
    expect(status, JSON.stringify([change, body])).toBe(200)
    expect(settingsOf(body), JSON.stringify(change)).toEqual(expected)
    expect(settingsOf(await show('demo'))).toEqual(expected)
    await restart()
    expect(settingsOf(await show('demo')), `${JSON.stringify(change)} after a restart`).toEqual(expected)
  }
  expect((await get('/api/workspaces?label=a=b')).body.workspaces).toHaveLength(1)
  expect((await get('/api/workspaces?label=team')).body.workspaces).toHaveLength(0)
  const timeline = (await patch('demo', { wake: true })) && (await get('/api/workspaces/demo/timeline')).body
  expect(JSON.stringify(timeline)).toContain('a client changed its settings')
})

test('a change of settings is an event', async () => {
  const { create, patch, url } = await world()
  await create({ name: 'demo' })
  const stream = await readEventStream(`${url()}/api/events`)
  const { body } = await patch('demo', { labels: { changed: 'yes' }, ttl_s: 3600, expire_action: 'delete' })
  const [, change] = await stream.first(2)
  expect(change).toMatchObject({ event: 'workspace', data: { type: 'changed', workspace: body } })
  expect(body).toMatchObject({ labels: { changed: 'yes' }, expire_action: 'delete' })
})

test.each([
  [{ labels: { 'no space': 'x' } }, 'label key'],
  [{ labels: { a: 'x'.repeat(256) } }, 'label "a"'],
  [{ labels: { a: 'line\nbreak' } }, 'control characters'],
  [{ labels: Object.fromEntries(Array.from({ length: 65 }, (_, i) => [`k${i}`, ''])) }, '64'],
  [{ labels: { a: 1 } }, 'labels'],
  [{ labels: [] }, 'labels'],
  [{ wake: 'sometimes' }, 'wake'],
  [{ idle: { stop_after: 'soon' } }, 'idle.stop_after'],
  [{ idle: { stop_after: -1 } }, 'idle.stop_after'],
  [{ idle: { stop_after: '9999d' } }, 'idle.stop_after'],
  [{ idle: { stop: 1 } }, 'stop'],
  [{ ttl_s: -1 }, 'ttl_s'],
  [{ ttl_s: 1e12 }, 'ttl_s'],
  [{ ttl_s: 1.5 }, 'ttl_s'],
  [{ ttl_s: 60, expires_at: '2100-01-01T00:00:00Z' }, 'mutually exclusive'],
  [{ expires_at: '2001-01-01T00:00:00Z' }, 'in the past'],
  [{ expires_at: '2100-01-01' }, 'expires_at'],
  [{ expires_at: '2100-01-01T00:00:00' }, 'expires_at'],
  [{ expires_at: '2100-99-01T00:00:00Z' }, 'expires_at'],
  [{ expires_at: 'never' }, 'expires_at'],
  [{ expire_action: 'delete' }, 'expire_action'],
  [{ ttl_s: 60, expire_action: 'explode' }, 'expire_action'],
  [{ schedule: { start: 'soon' } }, 'schedule.start "soon" is not valid'],
  [{ schedule: { stop: '0 19 * *' } }, 'use days and a time such as "Mon-Fri 08:00"'],
  [{ schedule: { stop: '0 0 0 19 * *' } }, 'schedule.stop'],
  [{ schedule: { stop: '61 19 * * *' } }, 'schedule.stop'],
  [{ schedule: { stop: '0 0 30 2 *' } }, 'it never occurs'],
  [{ schedule: { stop: 'Mun 19:00' } }, 'schedule.stop'],
  [{ schedule: { stop: '25:00' } }, 'schedule.stop'],
  [{ schedule: { stop: `0 ${'1,'.repeat(100)}1 * * *` } }, 'schedule.stop'],
  [{ schedule: { stop: '19:00', time_zone: 'Mars/Olympus' } }, 'schedule.time_zone'],
  [{ schedule: { stop: '19:00', time_zone: '+01:00' } }, 'such as "Europe/Berlin"'],
  [{ schedule: { rest: 'hibernate' } }, 'schedule.rest'],
  [{ schedule: { ends: '19:00' } }, 'ends'],
  [{ label: {} }, 'label'],
  [[], 'object'],
  ['{', 'must be object'],
])('a change that is not valid changes nothing: %j', async (body, named) => {
  const { create, patch, show, records } = await world()
  await create({ name: 'demo', labels: { team: 'web' } })
  const answer = await patch('demo', body)
  expectError(answer, 400, 'INVALID_REQUEST')
  expect(answer.body.error.message).toContain(named)
  expect(settingsOf(await show('demo'))).toEqual({ labels: { team: 'web' } })
  expect(records()).toEqual([])
  if (Array.isArray(body) || typeof body === 'string') return
  // A creation validates the same fields.
  expect((await create({ name: 'other', ...body })).status).toBe(400)
})

test('a workspace that does not exist, or is being created, cannot be changed', async () => {
  const { backend, create, patch } = await world()
  expect((await patch('none', { wake: true })).body.error.code).toBe('WORKSPACE_NOT_FOUND')
  expect((await patch('a%20b', { wake: true })).body.error.code).toBe('INVALID_WORKSPACE_NAME')
  const held = Promise.withResolvers<void>()
  const begun = Promise.withResolvers<void>()
  backend.before.set('started', () => {
    begun.resolve()
    return held.promise
  })
  const created = create({ name: 'demo', ttl_s: 600 })
  await begun.promise
  expect((await patch('demo', { wake: true })).body.error.code).toBe('WORKSPACE_BUSY')
  held.resolve()
  expect((await created).body).toMatchObject({ expire_action: 'stop' })
})

test('settings never outlive their workspace', async () => {
  const { backend, create, patch, show, remove, records, record, restart } = await world()
  const expiring = { ttl_s: 3600, expire_action: 'delete', idle: { stop_after: 60 } }
  // Deleted, with and without its files.
  for (const query of ['', '?keep_volume=true']) {
    await create({ name: 'demo', ...expiring })
    expect(records()).toEqual(['demo.json'])
    await remove('demo', query)
    expect(records()).toEqual([])
    await create({ name: 'demo' })
    expect(settingsOf(await show('demo'))).toEqual({})
    await remove('demo')
  }
  // Rolled back.
  backend.before.set('started', () => {
    throw new Error('not today')
  })
  expect((await create({ name: 'demo', ...expiring })).status).toBe(500)
  expect(records()).toEqual([])
  backend.before.delete('started')
  // Removed without the server, or left by another server: the record names an earlier workspace.
  await create({ name: 'demo', ...expiring })
  const earlier = readFileSync(record('demo'))
  await remove('demo')
  await create({ name: 'Demo' })
  writeFileSync(record('demo'), earlier)
  await restart()
  expect(settingsOf(await show('demo'))).toEqual({})
  await patch('demo', { labels: { a: '' } })
  await restart()
  expect(settingsOf(await show('demo'))).toEqual({ labels: { a: '' } })
})

test('settings that cannot be read are one state, from which a change recovers', async () => {
  const { create, patch, show, record, restart, remove } = await world()
  await create({ name: 'demo', labels: { team: 'web' } })
  await patch('demo', { ttl_s: 3600, expire_action: 'delete' })
  writeFileSync(record('demo'), 'not JSON')
  await restart()
  const damaged = await show('demo')
  expect(damaged.settings_error).toContain('workspace set demo')
  expect(settingsOf(damaged)).toMatchObject({ labels: { team: 'web' } })
  expect(damaged).not.toHaveProperty('expires_at')
  expect(settingsOf((await patch('demo', { wake: true })).body)).toEqual({
    labels: { team: 'web' },
    wake: true,
  })
  await restart()
  expect(settingsOf(await show('demo'))).toEqual({ labels: { team: 'web' }, wake: true })
  // A new workspace never inherits damage.
  writeFileSync(record('demo'), '')
  await restart()
  await remove('demo')
  await create({ name: 'demo' })
  expect(settingsOf(await show('demo'))).toEqual({})
})

test.each(['volume', 'started', 'remove'] as const)(
  'a server killed at step %s of a creation or deletion leaves no settings',
  async (step) => {
    const { backend, create, remove, stateDir, records } = await world()
    const expiring = { name: 'demo', ttl_s: 3600, expire_action: 'delete' }
    if (step === 'remove') await create(expiring)
    const held = Promise.withResolvers<void>()
    const begun = Promise.withResolvers<void>()
    backend.before.set(step, () => {
      begun.resolve()
      return held.promise
    })
    const work = step === 'remove' ? remove('demo') : create(expiring)
    await begun.promise
    expect(records()).toEqual(['demo.json'])
    // What a kill leaves on the disk.
    const copy = join(tempDir(), 'state')
    cpSync(stateDir(), copy, { recursive: true })
    held.resolve()
    await work
    backend.before.delete(step)
    const next = await startWorkspaceServer({ backends: () => [backend], stateDir: copy })
    onTestFinished(() => next.stop())
    expect((await next.api('workspaces')).body.workspaces).toEqual([])
    expect(readdirSync(join(copy, 'settings'))).toEqual([])
  },
)

test('settings that cannot be written change nothing', async () => {
  const { create, patch, show, record } = await world()
  await create({ name: 'demo' })
  mkdirSync(record('demo'))
  const answer = await patch('demo', { wake: true })
  expectError(answer, 500, 'BACKEND_ERROR')
  expect(answer.body.error.message).toContain('state directory')
  expect(settingsOf(await show('demo'))).toEqual({})
})

test('a template gives settings, which a request overrides one by one', async () => {
  const template = {
    labels: { team: 'web' },
    idle: { stop_after: '2h', suspend_after: '30m' },
    ttl: '7d',
    expire_action: 'delete',
  }
  const { create, get } = await world({ templates: { web: template } })
  expect((await get('/api/templates')).body.templates).toMatchObject([
    { name: 'web', idle: { stop_after: 7200, suspend_after: 1800 }, ttl_s: 604_800, expire_action: 'delete' },
  ])
  const idle = { stop_after: 7200, suspend_after: 1800 }
  const cases = [
    [{}, { idle, expire_action: 'delete' }],
    [{ idle: { stop_after: 0 } }, { idle: { ...idle, stop_after: 0 }, expire_action: 'delete' }],
    [
      { ttl_s: 60, expire_action: 'stop' },
      { idle, expire_action: 'stop' },
    ],
    [{ expires_at: '2030-01-01T00:00:00Z' }, { idle, expires_at: '2030-01-01T00:00:00.000Z' }],
  ] as const
  for (const [at, [given, expected]] of cases.entries()) {
    const { body } = await create({ name: `w${at}`, template: 'web', ...given })
    expect(body).toMatchObject({ labels: { team: 'web' }, ...expected })
    expect(body).toHaveProperty('expires_at')
  }
  const { body } = await create({ name: 'never', template: 'web', ttl_s: 0 })
  expect(body).not.toHaveProperty('expires_at')
})

test('a template and the configuration give schedules, and a single workspace shows its next times', async () => {
  const schedule = { start: 'Mon-Fri 08:00', stop: '0 19 * * *', time_zone: 'Europe/Berlin' }
  const { create, show, get } = await world({
    templates: { web: { schedule } },
    schedule: { stop: '30 20 * * *', time_zone: 'UTC' },
  })
  const expected = { ...schedule, start: '0 8 * * 1-5' }
  expect((await get('/api/templates')).body.templates).toMatchObject([{ name: 'web', schedule: expected }])
  const { body } = await create({ name: 'demo', template: 'web', schedule: { stop: '21:15' } })
  expect(body.schedule).toEqual({ ...expected, stop: '15 21 * * *' })
  expect(await show('demo')).toMatchObject({
    next_start: expect.stringMatching(/T0[67]:00:00/),
    next_stop: expect.stringMatching(/T(19|20):15:00/),
  })
  await create({ name: 'plain' })
  const plain = await show('plain')
  expect(plain).toMatchObject({ next_stop: expect.stringMatching(/T20:30:00/) })
  expect([plain.schedule, plain.next_start]).toEqual([undefined, undefined])
  await create({ name: 'never', schedule: { stop: 'never' } })
  expect(await show('never')).not.toHaveProperty('next_stop')
})

test('a server starts a stopped workspace at the time of its schedule', { tags: ['long'] }, async () => {
  let offsetMs = 0
  const clock = { ...systemClock, wallMs: () => Date.now() + offsetMs }
  const server = await startWorkspaceServer({ backends: () => [new FakeBackend()], clock })
  onTestFinished(() => server.stop())
  const demo = `${server.url}/api/workspaces/demo`
  await server.create({ name: 'demo' })
  await call(`${demo}/stop`, 'POST')
  // The next minute is near.
  offsetMs = Date.parse('2030-01-07T07:59:58Z') - Date.now()
  await call(demo, 'PATCH', { schedule: { start: '* * * * *', time_zone: 'UTC' } })
  await waitFor('its start', async () => (await call(demo)).body.status === 'running', 90_000)
  const timeline = JSON.stringify((await call(`${demo}/timeline`)).body)
  expect(timeline).toContain('its schedule started it (start \\"* * * * *\\", UTC)')
})
