import { expect, onTestFinished, test } from 'vitest'
import { Expirer } from '../../../src/workspace/activity/expirer.ts'
import type { CreateInput } from '../../../src/workspace/lifecycle/create-request.ts'
import { tempDir } from '../../support/temp-dir.ts'
import { waitFor } from '../../support/wait-for.ts'
import { FakeBackend } from '../../support/workspace/backend/fake-backend.ts'
import { type TimedHost, timedServer } from '../../support/workspace/lifecycle/timed-server.ts'

const HOUR_MS = 3_600_000
const YEAR_MS = 365 * 24 * HOUR_MS

/** Two clocks that a test advances together or apart. */
class Clocks {
  wall = Date.parse('2026-06-01T00:00:00Z')
  now = 0
  readonly wallMs = () => this.wall
  readonly nowMs = () => this.now
}

/** A server's expirer on a host; a second one on the same host is its restart. */
async function server(
  host: TimedHost<Clocks> = { backend: new FakeBackend(), stateDir: tempDir(), clock: new Clocks() },
  attached: () => Promise<boolean> = () => Promise.resolve(false),
) {
  const { clock } = host
  const { parts, ...timed } = await timedServer(host)
  const expirer = new Expirer({ ...parts, sessions: { isAttached: attached } })
  return {
    ...host,
    ...timed,
    host,
    async create(name: string, input: Omit<CreateInput, 'name'>) {
      const { make } = await timed.lifecycle.prepareCreate({ ...input, name })
      await make(() => undefined)
    },
    async pass(ms: number, setMs = 0) {
      clock.now += ms
      clock.wall += ms + setMs
      await expirer.check()
    },
  }
}

const DELETED = { ttlS: 3600, expireAction: 'delete' } as const

test('a workspace is stopped once when it expires, and then has no expiry', async () => {
  const world = await server()
  await world.create('demo', { ttlS: 3600 })
  await world.pass(HOUR_MS - 1)
  expect(world.status()).toBe('running')
  await world.pass(1)
  expect(world.status()).toBe('stopped')
  expect(world.find()?.expiry).toBeUndefined()
  expect(await world.audit()).toContain(
    '"action":"workspace.stop","workspace":"demo","address":"","reason":"expired"',
  )
  await world.lifecycle.start('demo')
  await world.pass(YEAR_MS)
  expect(world.status()).toBe('running')
})

test('a workspace is deleted with its settings when it expires, if it was created so', async () => {
  const world = await server()
  await world.create('demo', DELETED)
  await world.create('other', { ttlS: 7200, expireAction: 'delete' })
  await world.pass(HOUR_MS - 1)
  expect(world.status()).toBe('running')
  expect(world.notes().join()).toMatch(/it expires in .* deleted with its files; extend it with/)
  await world.pass(1)
  expect(world.status()).toBeUndefined()
  expect(await world.backend.hasVolume('demo')).toBe(false)
  expect(world.status('other')).toBe('running')
  expect(await world.audit()).toContain(
    '"action":"workspace.delete","workspace":"demo","address":"","reason":"expired"',
  )
  // A new workspace of the name has no expiry.
  await world.create('demo', {})
  await world.pass(YEAR_MS)
  expect(world.status()).toBe('running')
})

test('stopped and suspended workspaces are deleted as well, and not stopped', async () => {
  const world = await server()
  world.backend.canSuspend = true
  for (const how of ['stop', 'suspend'] as const)
    for (const expireAction of ['stop', 'delete'] as const) {
      const name = `${how}-${expireAction}`
      await world.create(name, { ttlS: 3600, expireAction })
      await world.lifecycle[how](name)
    }
  await world.pass(HOUR_MS)
  expect(['stop-stop', 'suspend-stop', 'stop-delete', 'suspend-delete'].map(world.status)).toEqual([
    'stopped',
    'suspended',
    undefined,
    undefined,
  ])
})

test('an expired workspace waits while it is in use, and its timeline shows why', async () => {
  for (const expireAction of ['stop', 'delete'] as const) {
    let isAttached: () => Promise<boolean> = () => Promise.resolve(false)
    const world = await server(undefined, () => isAttached())
    await world.create('demo', { ttlS: 3600, expireAction })
    const after = expireAction === 'stop' ? 'stopped' : undefined
    const end = world.activity.begin('DEMO')
    await world.pass(HOUR_MS)
    for (let i = 0; i < 50; i++) await world.pass(HOUR_MS)
    expect(world.status()).toBe('running')
    expect(world.notes().filter((note) => note.includes('somebody is connected'))).toHaveLength(1)
    const process = await world.processes.start(world.backend, 'demo', {
      command: ['sleep', '1000'],
      directory: undefined,
      environment: {},
      user: undefined,
    })
    end()
    await world.pass(HOUR_MS)
    expect(world.status()).toBe('running')
    expect(world.notes().join()).toContain('a program runs')
    await world.processes.signal('demo', process.id, 'SIGKILL')
    await waitFor('its end', () => process.end !== undefined)
    isAttached = () => Promise.resolve(true)
    await world.pass(HOUR_MS)
    expect(world.status()).toBe('running')
    expect(world.notes().join()).toContain('attached to a session')
    // What cannot be determined counts as a use.
    isAttached = () => Promise.reject(new Error('no answer'))
    await world.pass(HOUR_MS)
    expect(world.status()).toBe('running')
    isAttached = () => Promise.resolve(false)
    await world.pass(1)
    expect(world.status()).toBe(after)
  }
})

test('a use that begins while the sessions are listed prevents the action', async () => {
  for (const expireAction of ['stop', 'delete'] as const) {
    const world: Awaited<ReturnType<typeof server>> = await server(undefined, () => {
      onTestFinished(world.activity.begin('demo'))
      return Promise.resolve(false)
    })
    await world.create('demo', { ttlS: 3600, expireAction })
    await world.pass(HOUR_MS)
    expect(world.status()).toBe('running')
  }
})

test.each([
  ['extended', { ttlS: 7200 }],
  ['cleared', { expiresAt: null }],
  ['changed to a stop', { expireAction: 'stop' }],
] as const)('an expiry that is %s while its deletion is queued deletes nothing', async (_what, change) => {
  const world = await server()
  await world.create('demo', DELETED)
  const held = Promise.withResolvers<void>()
  // Another operation holds the workspace.
  world.backend.before.set('find', () => held.promise)
  world.backend.happen('demo', { is: 'running' })
  const changed = world.editor.change('demo', change)
  const passed = world.pass(HOUR_MS)
  held.resolve()
  await Promise.all([changed, passed])
  expect(world.status()).toBe('running')
})

test('an expiry survives a restart; one that passed meanwhile is announced for an hour', async () => {
  const first = await server()
  await first.create('soon', DELETED)
  await first.create('later', { ttlS: 4 * 3600, expireAction: 'delete' })
  first.clock.wall += 2 * HOUR_MS
  first.clock.now = 0
  const second = await server(first.host)
  await second.pass(0)
  expect(second.status('soon')).toBe('running')
  expect(second.notes('soon').join()).toContain('while the server did not run')
  await second.pass(HOUR_MS - 1)
  expect(second.status('soon')).toBe('running')
  await second.pass(1)
  expect(second.status('soon')).toBeUndefined()
  expect(second.status('later')).toBe('running')
  await second.pass(HOUR_MS)
  expect(second.status('later')).toBeUndefined()
})

test('a clock set forward by years deletes nothing before it is corrected', async () => {
  const world = await server()
  for (let i = 0; i < 20; i++) await world.create(`w${i}`, { ttlS: (i + 2) * 86_400, expireAction: 'delete' })
  const left = () => Array.from({ length: 20 }, (_, i) => world.status(`w${i}`)).filter(Boolean).length
  await world.pass(0, 10 * YEAR_MS)
  expect(world.notes('w0').join()).toContain('the system clock was set')
  expect(world.log()).toContain('the system clock was set')
  await world.pass(23 * HOUR_MS)
  expect(left()).toBe(20)
  await world.pass(0, -10 * YEAR_MS)
  await world.pass(24 * HOUR_MS)
  expect(left()).toBe(20)
  await world.pass(HOUR_MS)
  expect(left()).toBe(19)
})

test('a deletion that fails is repeated, and the timeline shows the failure', async () => {
  const world = await server()
  await world.create('demo', DELETED)
  world.backend.before.set('remove', () => {
    throw new Error('the engine is busy')
  })
  await world.pass(HOUR_MS)
  await world.pass(1_000)
  expect(world.status()).toBe('running')
  expect(world.notes().filter((note) => note.includes('the engine is busy'))).toHaveLength(1)
  world.backend.before.delete('remove')
  await world.pass(1_000)
  expect(world.status()).toBeUndefined()
})
