import { afterEach, beforeEach, expect, test } from 'vitest'
import { connect } from '../../../src/workspace/client/sdk/connect.ts'
import { fault } from '../../../src/workspace/errors.ts'
import { CreationMarks } from '../../../src/workspace/lifecycle/creation-marks.ts'
import { FakeBackend } from '../../support/workspace/backend/fake-backend.ts'
import { expectError } from '../../support/workspace/server/expect-error.ts'
import {
  call,
  makeWorkspace,
  startWorkspaceServer,
  type TestServer,
} from '../../support/workspace/server/test-server.ts'

let backend: FakeBackend
let server: TestServer
beforeEach(async () => {
  backend = new FakeBackend()
  server = await startWorkspaceServer({ backends: () => [backend] })
  await server.create({
    name: 'Demo',
    labels: { team: 'web' },
    idle: { stop_after: '2h' },
    checkpoints: { keep: 3 },
  })
  await call(urlOf('Demo', '/exec'), 'POST', { command: 'echo content >file; ln -s /etc/shadow link' })
})
afterEach(() => server.stop())

const urlOf = (name: string, path = '') => `${server.url}/api/workspaces/${name}${path}`
const fork = (name: string, body: object = {}) => call(urlOf(name, '/fork'), 'POST', body)
const run = async (name: string, command: string) =>
  (await call(urlOf(name, '/exec'), 'POST', { command })).body.stdout
const names = async (): Promise<readonly string[]> =>
  (await server.api('workspaces')).body.workspaces.map((each: { name: string }) => each.name)
const namesIn = ({ body }: Awaited<ReturnType<typeof fork>>): readonly string[] =>
  body.workspaces.map((each: { name: string }) => each.name)

test('a running workspace is forked with files and settings, and runs on', async () => {
  const answer = await fork('Demo', { count: 2, prefix: 'try' })
  expect(answer).toMatchObject({ status: 201, body: { memory: false, paused_ms: 5 } })
  expect(namesIn(answer)).toEqual(['try-1', 'try-2'])
  for (const name of ['try-1', 'try-2']) {
    expect((await call(urlOf(name))).body).toMatchObject({
      status: 'running',
      forked_from: 'Demo',
      labels: { team: 'web' },
      idle: { stop_after: 7200 },
      checkpoints: { keep: 3 },
    })
    expect(await run(name, 'cat file')).toBe('content\n')
    // A link of a hostile workspace is copied and not followed.
    expect(await run(name, 'readlink link')).toBe('/etc/shadow\n')
  }
  await run('try-1', 'echo changed >file')
  expect([await run('Demo', 'cat file'), await run('try-2', 'cat file')]).toEqual(['content\n', 'content\n'])
  const entries = (await call(urlOf('try-1', '/timeline'))).body.entries
  expect(entries).toContainEqual(expect.objectContaining({ text: 'starting: a client created it as a fork' }))
  expect(JSON.stringify((await call(urlOf('Demo', '/timeline'))).body)).toContain(
    'a client forked it 2 times',
  )
  expect(backend.copies.size).toBe(0)
})

test('an expiry is not copied, so that a fork does not delete itself', async () => {
  await call(urlOf('Demo'), 'PATCH', {
    ttl_s: 86_400,
    expire_action: 'delete',
    schedule: { stop: '19:00' },
  })
  await fork('Demo', { names: ['copy'] })
  const { body } = await call(urlOf('copy'))
  expect([body.expires_at, body.idle]).toEqual([undefined, { stop_after: 7200 }])
  expect(body.schedule).toEqual({ stop: '0 19 * * *' })
})

test('names without a prefix continue with the next free number', async () => {
  expect(namesIn(await fork('Demo'))).toEqual(['Demo-fork-1'])
  expect(namesIn(await fork('demo', { count: 2 }))).toEqual(['Demo-fork-2', 'Demo-fork-3'])
  await call(urlOf('Demo-fork-2'), 'DELETE')
  expect(namesIn(await fork('Demo', { count: 2 }))).toEqual(['Demo-fork-2', 'Demo-fork-4'])
  // A fork of a fork has its own source, also after the next start.
  await fork('Demo-fork-1', { names: ['second'] })
  expect((await call(urlOf('second'))).body.forked_from).toBe('Demo-fork-1')
})

test('a stopped workspace is forked without a pause, and the fork runs', async () => {
  await call(urlOf('Demo', '/stop'), 'POST')
  const { body } = await fork('Demo')
  expect([body.paused_ms, body.workspaces[0].status]).toEqual([0, 'running'])
  expect((await call(urlOf('Demo'))).body.status).toBe('stopped')
})

test('requests that cannot be fulfilled are refused and create nothing', async () => {
  await makeWorkspace(server.url, { name: 'taken-2' })
  const long = 'a'.repeat(60)
  for (const [name, body, status, code] of [
    ['absent', {}, 404, 'WORKSPACE_NOT_FOUND'],
    ['-x', {}, 400, 'INVALID_WORKSPACE_NAME'],
    ['Demo', { count: 3, prefix: 'taken' }, 409, 'WORKSPACE_ALREADY_EXISTS'],
    ['Demo', { names: ['new', 'TAKEN-2'] }, 409, 'WORKSPACE_ALREADY_EXISTS'],
    ['Demo', { names: ['Demo'] }, 409, 'WORKSPACE_ALREADY_EXISTS'],
    ['Demo', { names: ['new', 'New'] }, 400, 'INVALID_REQUEST'],
    ['Demo', { names: ['new'], count: 1 }, 400, 'INVALID_REQUEST'],
    ['Demo', { count: 65 }, 400, 'INVALID_REQUEST'],
    ['Demo', { count: 0 }, 400, 'INVALID_REQUEST'],
    ['Demo', { memory: true }, 501, 'FORK_UNSUPPORTED'],
    ['Demo', { memory: 'yes' }, 400, 'INVALID_REQUEST'],
    ['Demo', { prefix: long, count: 1000 }, 400, 'INVALID_REQUEST'],
    ['Demo', { prefix: `${long}bbb` }, 400, 'INVALID_WORKSPACE_NAME'],
  ] as const)
    expect(await fork(name, body), JSON.stringify(body)).toMatchObject({ status, body: { error: { code } } })
  expect(await names()).toEqual(['Demo', 'taken-2'])
})

test('memory is copied where that is possible, unless the client does not want it', async () => {
  backend.canSuspend = true
  expect((await fork('Demo')).body.memory).toBe(true)
  expect((await fork('Demo', { memory: true })).body.memory).toBe(true)
  expect((await fork('Demo', { memory: false })).body.memory).toBe(false)
})

test('a backend that cannot fork, a mounted directory and a broken workspace are refused with the way out', async () => {
  const { forks } = backend
  backend.forks = undefined
  expect(await fork('Demo')).toMatchObject({
    status: 501,
    body: { error: { code: 'FORK_UNSUPPORTED', message: expect.stringContaining('import') } },
  })
  backend.forks = forks
  await server.create({ name: 'mounted', local_dir: process.cwd() })
  expect(await fork('mounted')).toMatchObject({
    status: 501,
    body: { error: { code: 'FORK_UNSUPPORTED', message: expect.stringContaining(process.cwd()) } },
  })
  backend.happen('Demo', { is: 'error', message: 'broken' })
  await expect.poll(async () => (await call(urlOf('Demo'))).body.status).toBe('error')
  expectError(await fork('Demo'), 409, 'WORKSPACE_NOT_STOPPED')
  expect(await names()).toEqual(['Demo', 'mounted'])
})

test('a workspace that is being created cannot be forked', async () => {
  const { promise: waits, resolve } = Promise.withResolvers<void>()
  backend.before.set('started', () => waits)
  const creating = makeWorkspace(server.url, { name: 'new' })
  await expect.poll(names).toContain('new')
  expectError(await fork('new'), 409, 'WORKSPACE_BUSY')
  resolve()
  await creating
})

test.each(['take', 'started'])('when the step %s fails for one fork, none is left', async (step) => {
  let calls = 0
  backend.before.set(step, () => {
    calls += 1
    if (step === 'take' || calls === 2) throw fault('BACKEND_ERROR', 'the disk is full')
  })
  expect(await fork('Demo', { count: 3, prefix: 'try' })).toMatchObject({
    status: 500,
    body: { error: { code: 'BACKEND_ERROR', message: 'the disk is full' } },
  })
  expect(await names()).toEqual(['Demo'])
  expect((await backend.list()).map(({ name }) => name)).toEqual(['Demo'])
  expect([backend.copies.size, await new CreationMarks(server.stateDir).list()]).toEqual([0, []])
  backend.before.clear()
  expect((await fork('Demo', { count: 3, prefix: 'try' })).status).toBe(201)
})

test('deleting one fork while they are created ends all of them', async () => {
  let created = 0
  backend.before.set('started', async (signal) => {
    created += 1
    if (created === 2) await new Promise((resolve) => signal?.addEventListener('abort', resolve))
  })
  const forking = fork('Demo', { count: 2, prefix: 'try' })
  await expect.poll(() => created).toBe(2)
  // The first is complete and waits for the other; neither can be used as if it existed.
  expect((await call(urlOf('try-1'))).body.status).toBe('starting')
  expect((await call(urlOf('try-2'), 'DELETE')).status).toBe(204)
  expectError(await forking, 409, 'WORKSPACE_BUSY')
  expect(await names()).toEqual(['Demo'])
  expect((await backend.list()).length).toBe(1)
})

test('the source can be stopped and deleted as soon as it is copied', async () => {
  const { promise: waits, resolve } = Promise.withResolvers<void>()
  let created = 0
  backend.before.set('started', async () => {
    created += 1
    await waits
  })
  const forking = fork('Demo', { names: ['copy'] })
  await expect.poll(() => created).toBe(1)
  expect((await call(urlOf('Demo', '/stop'), 'POST')).status).toBe(200)
  expect((await call(urlOf('Demo'), 'DELETE')).status).toBe(204)
  resolve()
  expect((await forking).status).toBe(201)
  expect(await run('copy', 'cat file')).toBe('content\n')
})

test('of forks, stops and deletions at the same time, each is whole or refused', async () => {
  const answers = await Promise.all([
    fork('Demo', { count: 2, prefix: 'a' }),
    fork('Demo', { count: 2, prefix: 'A' }),
    call(urlOf('Demo', '/stop'), 'POST'),
    fork('Demo', { names: ['b'] }),
    call(urlOf('Demo'), 'DELETE'),
    fork('Demo', { names: ['c'] }),
  ])
  for (const { status } of answers) expect([200, 201, 204, 404, 409]).toContain(status)
  const made = answers.flatMap((each) => (each.status === 201 ? namesIn(each) : []))
  expect([...(await names())].toSorted()).toEqual(made.toSorted())
  expect((await backend.list()).map(({ name }) => name).toSorted()).toEqual(made.toSorted())
  expect(backend.copies.size).toBe(0)
})

test('a server that is stopped while it forks leaves no fork', async () => {
  let created = 0
  backend.before.set('started', async (signal) => {
    created += 1
    await new Promise((_resolve, reject) => {
      signal?.addEventListener('abort', () => reject(signal.reason as Error))
    })
  })
  const forking = fork('Demo', { count: 2, prefix: 'try' }).catch(() => undefined)
  await expect.poll(() => created).toBe(2)
  server = await server.restart()
  await forking
  expect([await names(), (await backend.list()).map(({ name }) => name)]).toEqual([['Demo'], ['Demo']])
  expect([backend.copies.size, await new CreationMarks(server.stateDir).list()]).toEqual([0, []])
})

test('the client library returns the forks', async () => {
  const workspace = await connect({ url: server.url }).get('Demo')
  const { workspaces, pausedMs, memory } = await workspace.fork({ count: 2, prefix: 'try' })
  expect([workspaces.map(({ name }) => name), pausedMs, memory]).toEqual([['try-1', 'try-2'], 5, false])
  expect(workspaces[0]?.info.forkedFrom).toBe('Demo')
  expect((await workspaces[1]?.exec('cat file'))?.stdout).toBe('content\n')
})
