import { afterEach, beforeEach, expect, test } from 'vitest'
import { connect } from '../../../src/workspace/client/sdk/connect.ts'
import { fault } from '../../../src/workspace/errors.ts'
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
  await makeWorkspace(server.url, { name: 'Old' })
  await call(urlOf('Old', '/exec'), 'POST', { command: 'echo content >file' })
  await call(urlOf('Old'), 'PATCH', { labels: { team: 'web' }, idle: { stop_after: '2h' }, ttl_s: 86_400 })
})
afterEach(() => server.stop())

const urlOf = (name: string, path = '') => `${server.url}/api/workspaces/${name}${path}`
const stop = () => call(urlOf('Old', '/stop'), 'POST')
const rename = (name: string, to: unknown) => call(urlOf(name, '/rename'), 'POST', { name: to })
const names = async () =>
  (await server.api('workspaces')).body.workspaces.map((each: { name: string }) => each.name)

test.each(['new', 'NEW-2', 'old'])(
  'a stopped workspace keeps files and settings under the name %s',
  async (to) => {
    await stop()
    const before = (await call(urlOf('Old'))).body
    const { status, body } = await rename('Old', to)
    const { status_reason: _reason, network: _network, ...same } = before
    expect([status, body]).toEqual([200, expect.objectContaining({ ...same, name: to })])
    expect(await names()).toEqual([to])
    if (to !== 'old') expect(body.status_reason.reason).toBe('a client renamed it from "Old"')
    await call(urlOf(to, '/start'), 'POST')
    expect((await call(urlOf(to, '/exec'), 'POST', { command: 'cat file' })).body.stdout).toBe('content\n')
    if (to !== 'old') {
      expect((await call(urlOf('Old'))).status).toBe(404)
      // The old name is free, and its settings are not inherited.
      await makeWorkspace(server.url, { name: 'Old' })
      expect((await call(urlOf('Old'))).body.labels).toBeUndefined()
    }
    server = await server.restart()
    expect((await call(urlOf(to))).body).toMatchObject({
      labels: { team: 'web' },
      idle: { stop_after: 7200 },
    })
  },
)

test('a running workspace, a taken name and an invalid one are refused and change nothing', async () => {
  await makeWorkspace(server.url, { name: 'taken' })
  expectError(await rename('Old', 'new'), 409, 'WORKSPACE_NOT_STOPPED')
  await stop()
  for (const [name, to, status, code] of [
    ['Old', 'taken', 409, 'WORKSPACE_ALREADY_EXISTS'],
    ['Old', 'Taken', 409, 'WORKSPACE_ALREADY_EXISTS'],
    ['Old', '../x', 400, 'INVALID_WORKSPACE_NAME'],
    ['Old', null, 400, 'INVALID_WORKSPACE_NAME'],
    ['absent', 'new', 404, 'WORKSPACE_NOT_FOUND'],
  ] as const)
    expect(await rename(name, to), code).toMatchObject({ status, body: { error: { code } } })
  expect(await names()).toEqual(['Old', 'taken'])
})

test('a backend that cannot rename names the way to do it', async () => {
  backend.rename = undefined
  await stop()
  const { status, body } = await rename('Old', 'new')
  expect([status, body.error.code, body.error.message]).toEqual([
    501,
    'RENAME_UNSUPPORTED',
    expect.stringContaining('import it as "new"'),
  ])
  expect(await names()).toEqual(['Old'])
})

test('a failed rename leaves the workspace with its old name', async () => {
  await stop()
  backend.before.set('rename', () => {
    throw fault('BACKEND_ERROR', 'the disk is full')
  })
  expect((await rename('Old', 'new')).status).toBe(500)
  expect(await names()).toEqual(['Old'])
  backend.before.clear()
  expect((await rename('Old', 'new')).status).toBe(200)
})

test('of operations at the same time, each sees one of the names, and none is lost', async () => {
  await stop()
  await makeWorkspace(server.url, { name: 'other' })
  await call(urlOf('other', '/stop'), 'POST')
  const answers = await Promise.all([
    rename('Old', 'new'),
    rename('Old', 'newer'),
    rename('other', 'Old'),
    server.create({ name: 'new' }),
    call(urlOf('Old', '/start'), 'POST'),
    call(urlOf('new', '/start'), 'POST'),
  ])
  for (const { status } of answers) expect([200, 201, 404, 409]).toContain(status)
  const left = (await names()) as string[]
  expect(new Set(left.map((name) => name.toLowerCase())).size).toBe(left.length)
  const created = answers[3]?.status === 201 ? 1 : 0
  expect(left.length).toBe(2 + created)
  expect((await backend.list()).map(({ name }) => name).toSorted()).toEqual(left.toSorted())
})

test('the client library returns the renamed workspace', async () => {
  await stop()
  const workspace = await connect({ url: server.url }).get('Old')
  const renamed = await workspace.rename('new')
  expect([renamed.name, renamed.info.status]).toEqual(['new', 'stopped'])
  expect((await renamed.start()).name).toBe('new')
})
