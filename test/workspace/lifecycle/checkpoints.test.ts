import { afterEach, beforeEach, expect, test } from 'vitest'
import { fault } from '../../../src/workspace/errors.ts'
import { FakeBackend } from '../../support/workspace/backend/fake-backend.ts'
import { expectError } from '../../support/workspace/server/expect-error.ts'
import { call, startWorkspaceServer, type TestServer } from '../../support/workspace/server/test-server.ts'

let backend: FakeBackend
let server: TestServer
beforeEach(async () => {
  backend = new FakeBackend()
  server = await startWorkspaceServer({ backends: () => [backend] })
  await server.create({ name: 'Demo' })
  await run('echo first >file; ln -s /etc/shadow link')
})
afterEach(() => server.stop())

const urlOf = (name: string, path = '') => `${server.url}/api/workspaces/${name}${path}`
const run = async (command: string) =>
  (await call(urlOf('Demo', '/exec'), 'POST', { command })).body.stdout as string
const take = (body: object = {}, name = 'demo') => call(urlOf(name, '/checkpoints'), 'POST', body)
const list = async (name = 'demo') => (await call(urlOf(name, '/checkpoints'))).body.checkpoints
const rewind = (to: unknown, name = 'demo') => call(urlOf(name, '/rewind'), 'POST', { to })
const state = async () => (await call(urlOf('Demo'))).body.status
const timeline = async () => JSON.stringify((await call(urlOf('Demo', '/timeline'))).body)

test('a rewind puts back the files of a checkpoint, starts the workspace again, and can be undone', async () => {
  const { status, body: first } = await take({ label: 'before\n"$HOME"' })
  expect([status, first]).toEqual([
    201,
    {
      id: expect.stringMatching(/^[0-9a-f]{16}$/),
      created_at: expect.any(String),
      reason: 'manual',
      label: 'before\n"$HOME"',
      size_bytes: 4096,
    },
  ])
  await run('rm link; echo second >file; echo new >other')
  const rewound = await rewind(first.id)
  expect(rewound).toMatchObject({
    status: 200,
    body: {
      workspace: { name: 'Demo', status: 'running' },
      to: first,
      before: { reason: 'rewind' },
    },
  })
  expect(await run('cat file; readlink link; ls')).toBe('first\n/etc/shadow\nfile\nlink\n')
  expect(await list()).toEqual([first, rewound.body.before])
  expect(await timeline()).toContain(`it was rewound to checkpoint ${first.id}`)
  await rewind(rewound.body.before.id)
  expect(await run('cat file other; ls')).toBe('second\nnew\nfile\nother\n')
  expect(await list()).toHaveLength(3)
})

test('a duration selects the newest checkpoint that is at least that old', async () => {
  const { body: first } = await take()
  await run('echo second >file')
  const { body: second } = await take()
  expect((await rewind('0s')).body.to).toEqual(second)
  expect(await run('cat file')).toBe('second\n')
  expect(await rewind('10m')).toMatchObject({
    status: 404,
    body: { error: { code: 'CHECKPOINT_NOT_FOUND', message: expect.stringContaining('10m') } },
  })
  expect((await list()).map(({ id }: { id: string }) => id).slice(0, 2)).toEqual([first.id, second.id])
})

test('a stopped workspace stays stopped, and a suspended one is without its memory', async () => {
  backend.canSuspend = true
  const { body: first } = await take()
  for (const action of ['stop', 'suspend'] as const) {
    if (action === 'suspend') await call(urlOf('Demo', '/start'), 'POST')
    await call(urlOf('Demo', `/${action}`), 'POST')
    expect((await take()).status).toBe(201)
    expect((await rewind(first.id)).body.workspace.status).toBe('stopped')
  }
})

test('checkpoints are deleted one by one, and with their workspace', async () => {
  const { body: first } = await take()
  const { body: second } = await take()
  expect((await call(urlOf('demo', `/checkpoints/${first.id}`), 'DELETE')).status).toBe(204)
  expect(await list()).toEqual([second])
  expectError(await call(urlOf('demo', `/checkpoints/${first.id}`), 'DELETE'), 404, 'CHECKPOINT_NOT_FOUND')
  await server.create({ name: 'other' })
  for (const attempt of [
    call(urlOf('other', `/checkpoints/${second.id}`), 'DELETE'),
    rewind(second.id, 'other'),
  ])
    expectError(await attempt, 404, 'CHECKPOINT_NOT_FOUND')
  expect(await list('other')).toEqual([])
  await call(urlOf('Demo', '?keep_volume=true'), 'DELETE')
  await server.create({ name: 'Demo' })
  expect(await list()).toEqual([])
})

test('requests that cannot be fulfilled are refused and change nothing', async () => {
  const { body: first } = await take()
  await server.create({ name: 'mounted', local_dir: process.cwd() })
  for (const [answer, status, code] of [
    [take({}, 'absent'), 404, 'WORKSPACE_NOT_FOUND'],
    [take({}, '-x'), 400, 'INVALID_WORKSPACE_NAME'],
    [take({ label: 'x'.repeat(201) }), 400, 'INVALID_REQUEST'],
    [take({ lable: 'x' }), 400, 'INVALID_REQUEST'],
    [take({}, 'mounted'), 501, 'CHECKPOINT_UNSUPPORTED'],
    [rewind('yesterday'), 400, 'INVALID_REQUEST'],
    [rewind('../../x'), 400, 'INVALID_REQUEST'],
    [rewind(''), 400, 'INVALID_REQUEST'],
    [rewind('0'.repeat(16)), 404, 'CHECKPOINT_NOT_FOUND'],
    [rewind(first.id, 'mounted'), 404, 'CHECKPOINT_NOT_FOUND'],
    [call(urlOf('absent', '/checkpoints')), 404, 'WORKSPACE_NOT_FOUND'],
  ] as const)
    expectError(await answer, status, code)
  expect(await list()).toEqual([first])
  backend.happen('Demo', { is: 'error', message: 'broken' })
  await expect.poll(state).toBe('error')
  expectError(await take(), 409, 'WORKSPACE_NOT_STOPPED')
  // What is broken inside is a reason to rewind.
  expect((await rewind(first.id)).body.workspace.status).toBe('stopped')
  backend.checkpoints = undefined
  expect(await call(urlOf('Demo', '/checkpoints'))).toMatchObject({
    status: 501,
    body: {
      error: { code: 'CHECKPOINT_UNSUPPORTED', message: expect.stringContaining('docker workspaces') },
    },
  })
})

test.each([
  ['checkpoint', 'running', 1],
  ['stop', 'running', 2],
  ['restore', 'stopped', 2],
  ['start', 'stopped', 2],
])(
  'a rewind whose step %s fails leaves the workspace %s with its old or new files',
  async (step, after, count) => {
    const { body: first } = await take()
    await run('echo second >file')
    backend.before.set(step, () => {
      throw fault('BACKEND_ERROR', 'the disk is full')
    })
    expect(await rewind(first.id)).toMatchObject({
      status: 500,
      body: { error: { message: expect.stringContaining('the disk is full') } },
    })
    expect([await state(), (await list()).length]).toEqual([after, count])
    backend.before.clear()
    if (after === 'stopped') await call(urlOf('Demo', '/start'), 'POST')
    expect(await run('cat file')).toBe(step === 'start' ? 'first\n' : 'second\n')
    expect((await rewind(first.id)).status).toBe(200)
    expect(await run('cat file')).toBe('first\n')
  },
)

test('forks of a checkpoint have its files, and it is not deleted before they do', async () => {
  const fork = (body: object) => call(urlOf('Demo', '/fork'), 'POST', body)
  const { body: first } = await take()
  await run('echo second >file')
  const { promise: waits, resolve } = Promise.withResolvers<void>()
  backend.before.set('started', () => waits)
  const forking = fork({ checkpoint: first.id, names: ['one', 'two'] })
  const remove = () => call(urlOf('Demo', `/checkpoints/${first.id}`), 'DELETE')
  await expect.poll(remove).toMatchObject({ status: 409, body: { error: { code: 'WORKSPACE_BUSY' } } })
  resolve()
  expect(await forking).toMatchObject({ status: 201, body: { memory: false, paused_ms: 0 } })
  for (const name of ['one', 'two']) {
    const { body } = await call(urlOf(name, '/exec'), 'POST', { command: 'cat file' })
    expect(body.stdout).toBe('first\n')
    expect((await call(urlOf(name))).body.forked_from).toBe('Demo')
  }
  expect(await list('one')).toEqual([])
  expectError(await fork({ checkpoint: first.id, memory: true }), 501, 'FORK_UNSUPPORTED')
  expectError(await fork({ checkpoint: '0'.repeat(16) }), 404, 'CHECKPOINT_NOT_FOUND')
  expect((await remove()).status).toBe(204)
})
