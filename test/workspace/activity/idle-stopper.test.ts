import { Timeline } from '../../../src/workspace/timeline/timeline.ts'
import { spawn, spawnSync } from 'node:child_process'
import { createServer, type AddressInfo } from 'node:net'
import { PassThrough } from 'node:stream'
import { expect, onTestFinished, test } from 'vitest'
import { createLogger } from '../../../src/lib/log/logger.ts'
import { ActivityTable } from '../../../src/workspace/activity/activity-table.ts'
import { IdleStopper } from '../../../src/workspace/activity/idle-stopper.ts'
import { AuditLog } from '../../../src/workspace/audit/audit-log.ts'
import type { CreateInput } from '../../../src/workspace/lifecycle/create-request.ts'
import { CreationMarks } from '../../../src/workspace/lifecycle/creation-marks.ts'
import { Lifecycle } from '../../../src/workspace/lifecycle/lifecycle.ts'
import type { CheckpointChanges } from '../../../src/workspace/lifecycle/checkpointer.ts'
import { SettingsStore } from '../../../src/workspace/settings/settings-store.ts'
import { SnapshotLibrary } from '../../../src/workspace/snapshot/snapshot-library.ts'
import { WorkspaceTable } from '../../../src/workspace/lifecycle/table.ts'
import { SessionDirectory } from '../../../src/workspace/session/session-directory.ts'
import { FakeBackend } from '../../support/workspace/backend/fake-backend.ts'
import { openHttpTunnel } from '../../support/http/http-tunnel.ts'
import { tempDir } from '../../support/temp-dir.ts'
import { waitFor } from '../../support/wait-for.ts'
import { makeWorkspace, startWorkspaceServer } from '../../support/workspace/server/test-server.ts'
import { CREATE_DEFAULTS } from '../../support/workspace/lifecycle/create-defaults.ts'
import { systemClock } from '../../../src/lib/clock/clock.ts'
import { noEgress } from '../../support/workspace/lifecycle/no-egress.ts'

type IdleInput = CreateInput['idle']

const TIMEOUT_MS = 60_000

/**
 * A stopper with a manual clock, for a workspace `demo`.
 *
 * @param own the workspace's limits
 * @param idleQuotaMs the idle time that no workspace may exceed; 0 for any
 */
async function idleWorld(
  limits = { stopAfterMs: TIMEOUT_MS, suspendAfterMs: 0 },
  { own, idleQuotaMs = 0 }: { readonly own?: IdleInput; readonly idleQuotaMs?: number } = {},
) {
  const backend = new FakeBackend()
  const backends = new Map([['docker', backend]] as const)
  const lines: string[] = []
  const destination = new PassThrough().setEncoding('utf8').on('data', (line: string) => lines.push(line))
  const logger = createLogger({ level: 'info', format: 'json', destination })
  const settings = await SettingsStore.open(tempDir())
  const table = new WorkspaceTable((workspace) => settings.complete(workspace))
  let nowMs = 1_000_000
  const activity = new ActivityTable(table, { ...systemClock, nowMs: () => nowMs })
  const lifecycle = new Lifecycle({
    egress: noEgress,
    timeline: new Timeline(systemClock),
    table,
    backends,
    marks: new CreationMarks(tempDir()),
    settings,
    snapshots: new SnapshotLibrary([backend], systemClock),
    defaults: CREATE_DEFAULTS,
    logger,
    clock: systemClock,
  })
  await lifecycle.open()
  onTestFinished(() => lifecycle.close())
  const create = async (name: string, idle?: IdleInput): Promise<void> => {
    const { make } = await lifecycle.prepareCreate({ name, idle })
    await make(() => undefined)
  }
  await create('demo', own)
  const audit = await AuditLog.open(undefined, logger, systemClock)
  const sessions = new SessionDirectory(table, backends, logger)
  const taken: string[] = []
  /** Checkpoints in progress; others fail. */
  const takes = new Map<string, Promise<CheckpointChanges>>()
  const stopper = new IdleStopper({
    ...limits,
    access: { idleQuotaOf: () => idleQuotaMs },
    table,
    activity,
    sessions,
    lifecycle,
    checkpointer: {
      takeForPlan: (name, reason) => {
        taken.push(`${name} ${reason} ${table.find(name)?.state.is}`)
        return takes.get(name) ?? Promise.reject(new Error('the disk is full'))
      },
    },
    audit,
    logger,
  })
  return {
    backend,
    activity,
    lifecycle,
    stopper,
    taken,
    takes,
    create,
    log: () => lines.join(''),
    status: (name = 'demo') => table.find(name)?.state.is,
    /** Advances the clock and checks. */
    async pass(ms: number): Promise<void> {
      nowMs += ms
      await stopper.check()
    },
    passUnseen: (ms: number) => (nowMs += ms),
  }
}

test.each([
  ['no limit', { stopAfterMs: 0, suspendAfterMs: 0 }, undefined],
  ["a longer limit of the server's", { stopAfterMs: 2 * TIMEOUT_MS, suspendAfterMs: 0 }, undefined],
  ['a longer limit', { stopAfterMs: 0, suspendAfterMs: 0 }, { stopAfter: '1h' }],
  ['a request never to stop', { stopAfterMs: 0, suspendAfterMs: 0 }, { stopAfter: 0 }],
])('a quota stops an idle workspace with %s', async (_title, limits, own) => {
  const world = await idleWorld(limits, { own, idleQuotaMs: TIMEOUT_MS })
  await world.pass(TIMEOUT_MS - 1)
  expect(world.status()).toBe('running')
  await world.pass(1)
  expect(world.status()).toBe('stopped')
})

test('a quota leaves a shorter limit as it is', async () => {
  const world = await idleWorld(undefined, { idleQuotaMs: 2 * TIMEOUT_MS })
  await world.pass(TIMEOUT_MS)
  expect(world.status()).toBe('stopped')
})

test('idle stop stops a workspace after the timeout and logs it', async () => {
  const world = await idleWorld()
  await world.pass(TIMEOUT_MS - 1)
  expect(world.status()).toBe('running')
  await world.pass(1)
  expect(world.status()).toBe('stopped')
  expect(world.log()).toContain('"workspace":"demo","limitMs":60000,"msg":"stopped an idle workspace"')
  expect(world.taken).toEqual(['demo idle stopped'])
  expect(world.log()).toContain('"why":"the disk is full","msg":"could not take a checkpoint"')
})

test('a workspace whose checkpoint takes long delays the idle stop of no other', async () => {
  const world = await idleWorld()
  const copy = Promise.withResolvers<CheckpointChanges>()
  world.takes.set('demo', copy.promise)
  await world.create('other')
  const end = world.activity.begin('other')
  const first = world.pass(TIMEOUT_MS)
  await waitFor('the checkpoint', () => world.taken.length === 1)
  end()
  world.passUnseen(TIMEOUT_MS)
  const second = world.pass(0)
  await waitFor('the other to be stopped', () => world.status('other') === 'stopped')
  expect(world.taken).toEqual(['demo idle stopped', 'other idle stopped'])
  copy.resolve({ taken: 1, deleted: 0 })
  await Promise.all([first, second])
})

test('idle stop never stops a workspace in use, and starts counting when the last use ends', async () => {
  const world = await idleWorld()
  const [end, endOther] = [world.activity.begin('demo'), world.activity.begin('DEMO')]
  for (let i = 0; i < 100; i++) await world.pass(TIMEOUT_MS)
  end()
  end()
  await world.pass(TIMEOUT_MS)
  expect(world.status()).toBe('running')
  endOther()
  await world.pass(TIMEOUT_MS - 1)
  expect(world.status()).toBe('running')
  await world.pass(1)
  expect(world.status()).toBe('stopped')
})

test('idle stop spares a workspace with a client attached to tmux by another route', async () => {
  const world = await idleWorld()
  const tmux = async (...argv: readonly string[]) => {
    const process = await world.backend.exec('demo', { argv: ['tmux', ...argv], stdin: false })
    process.stdout.resume()
    process.stderr.resume()
    return (await process.exitStatus).status
  }
  expect(await tmux('new-session', '-d', '-s', 'work', 'sleep 60')).toBe(0)
  const socket = await world.backend.exec('demo', {
    argv: ['tmux', 'display-message', '-p', '#{socket_path}'],
    stdin: false,
  })
  const path = (await socket.stdout.setEncoding('utf8').toArray()).join('').trim()
  // The stop of a fake workspace does not end what has left its process group.
  onTestFinished(() => void spawnSync('tmux', ['-S', path, 'kill-server']))
  // An attached client has a terminal.
  const client = spawn('script', ['-qec', `tmux -S ${path} attach -t work`, '/dev/null'], {
    stdio: ['pipe', 'ignore', 'ignore'],
    env: { ...process.env, TERM: 'xterm' },
  })
  onTestFinished(() => void client.kill('SIGKILL'))
  const attached = async () => {
    const list = await world.backend.exec('demo', { argv: ['tmux', 'list-clients'], stdin: false })
    return (await list.stdout.setEncoding('utf8').toArray()).join('') !== ''
  }
  await waitFor('a client', attached)
  await world.pass(TIMEOUT_MS)
  expect(world.status()).toBe('running')
  expect(await tmux('detach-client', '-s', 'work')).toBe(0)
  await waitFor('its end', async () => !(await attached()))
  // A session without attached clients does not count, but idle time starts when the last one detached.
  await world.pass(TIMEOUT_MS - 1)
  expect(world.status()).toBe('running')
  await world.pass(1)
  expect(world.status()).toBe('stopped')
})

test('idle stop counts from the start of a workspace', async () => {
  const world = await idleWorld()
  await world.lifecycle.stop('demo')
  await world.pass(10 * TIMEOUT_MS)
  await world.lifecycle.start('demo')
  await world.pass(TIMEOUT_MS - 1)
  expect(world.status()).toBe('running')
})

test('idle stop spares a workspace that is used while its stop is queued', async () => {
  const world = await idleWorld()
  const held = Promise.withResolvers<void>()
  // The engine is slow to report the workspace's state, which is queried first.
  world.backend.before.set('find', () => held.promise)
  world.backend.happen('demo', { is: 'running' })
  const check = world.pass(TIMEOUT_MS)
  const end = world.activity.begin('demo')
  held.resolve()
  await check
  expect(world.status()).toBe('running')
  end()
})

test.each(['stop', 'remove'] as const)(
  'idle stop comes after a %s under way and adds nothing',
  async (action) => {
    const world = await idleWorld()
    const held = Promise.withResolvers<void>()
    let stops = 0
    world.backend.before.set('stop', () => {
      stops++
      return held.promise
    })
    world.backend.before.set('remove', () => held.promise)
    world.passUnseen(TIMEOUT_MS)
    const done = action === 'stop' ? world.lifecycle.stop('demo') : world.lifecycle.remove('demo', false)
    const check = world.stopper.check()
    held.resolve()
    await Promise.all([done, check])
    expect(world.status()).toBe(action === 'stop' ? 'stopped' : undefined)
    expect(stops).toBe(action === 'stop' ? 1 : 0)
    expect(world.log()).not.toContain('stopped a workspace')
  },
)

test('idle stop retries when the engine refuses, and stops the others in the meantime', async () => {
  const world = await idleWorld()
  await world.create('other')
  let refusals = 1
  world.backend.before.set('stop', () => {
    if (refusals-- > 0) throw new Error('not now')
  })
  await world.pass(TIMEOUT_MS)
  const statuses = () =>
    [`${world.status('demo')}`, `${world.status('other')}`].toSorted((a, b) => a.localeCompare(b))
  expect(statuses()).toEqual(['running', 'stopped'])
  await world.pass(0)
  expect(statuses()).toEqual(['stopped', 'stopped'])
})

test('idle stop spares a workspace whose use cannot be determined', async () => {
  const world = await idleWorld()
  world.backend.before.set('exec', () => Promise.reject(new Error('no programs today')))
  await world.pass(TIMEOUT_MS)
  expect(world.status()).toBe('running')
})

test('idle stop in a server spares open tunnels, and is off by default', { tags: ['long'] }, async () => {
  const echo = createServer((socket) => socket.pipe(socket)).listen(0, '127.0.0.1')
  await new Promise((resolve) => echo.once('listening', resolve))
  onTestFinished(() => void echo.close())
  const backends = () => [new FakeBackend()]
  const server = await startWorkspaceServer({ backends, settings: { idle_timeout: '1500ms' } })
  onTestFinished(() => server.stop())
  await makeWorkspace(server.url, { name: 'used', idle: { stop_after: 0 } })
  const port = (echo.address() as AddressInfo).port
  const tunnel = await openHttpTunnel(`${server.url}/api/workspaces/used/connect/${port}`)
  await server.api('workspaces/used', 'PATCH', { idle: null })
  await makeWorkspace(server.url, { name: 'idle' })
  const status = async (name: string) => (await server.api(`workspaces/${name}`)).body.status
  await waitFor('the idle one to stop', async () => (await status('idle')) === 'stopped')
  expect(await status('used')).toBe('running')
  tunnel.stream?.destroy()
  await waitFor('the other to stop', async () => (await status('used')) === 'stopped')

  const other = await startWorkspaceServer({ backends })
  onTestFinished(() => other.stop())
  expect(other.log()).not.toContain('idle')
})

test('idle suspend replaces idle stop where the backend can save the memory', async () => {
  const limits = { stopAfterMs: 2 * TIMEOUT_MS, suspendAfterMs: TIMEOUT_MS }
  const able = await idleWorld(limits)
  able.backend.canSuspend = true
  await able.pass(TIMEOUT_MS - 1)
  expect(able.status()).toBe('running')
  await able.pass(1)
  expect(able.status()).toBe('suspended')

  const unable = await idleWorld(limits)
  await unable.pass(TIMEOUT_MS)
  expect(unable.status()).toBe('running')
  expect(unable.log()).toContain('could not suspend an idle workspace')
  await unable.pass(TIMEOUT_MS - 1)
  expect(unable.status()).toBe('running')
  await unable.pass(1)
  expect(unable.status()).toBe('stopped')
})

test('idle limits of a workspace replace those of the server, each separately', async () => {
  const world = await idleWorld({ stopAfterMs: TIMEOUT_MS, suspendAfterMs: 0 })
  world.backend.canSuspend = true
  await world.create('never', { stopAfter: 0 })
  await world.create('later', { stopAfter: '5m' })
  await world.create('suspended', { suspendAfter: 30 })
  const statuses = () => ['demo', 'never', 'later', 'suspended'].map((name) => world.status(name))
  await world.pass(30_000)
  expect(statuses()).toEqual(['running', 'running', 'running', 'suspended'])
  await world.pass(30_000)
  expect(statuses()).toEqual(['stopped', 'running', 'running', 'suspended'])
  await world.pass(4 * TIMEOUT_MS)
  expect(statuses()).toEqual(['stopped', 'running', 'stopped', 'suspended'])
  await world.pass(1_000 * TIMEOUT_MS)
  expect(world.status('never')).toBe('running')
})
