import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { fault } from '../../../../src/workspace/errors.ts'
import { FakeBackend } from '../../../support/workspace/backend/fake-backend.ts'
import { tempDir } from '../../../support/temp-dir.ts'
import { userEnvironment, workspaceCli } from '../../../support/workspace/client/workspace-cli.ts'
import { expectError } from '../../../support/workspace/server/expect-error.ts'
import { startWorkspaceServer, type TestServer } from '../../../support/workspace/server/test-server.ts'

let backend: FakeBackend
let server: TestServer
beforeEach(async () => {
  backend = new FakeBackend()
  server = await startWorkspaceServer({ backends: () => [backend] })
})
afterEach(() => server.stop())

const texts = async (): Promise<string[]> =>
  (await server.api('workspaces/demo/timeline')).body.entries.map(({ text }: { text: string }) =>
    text.replace(/\d+\.\d\d s/, 'N s'),
  )

test('a timeline shows a creation’s phases, then states with their reasons', async () => {
  const directory = tempDir()
  mkdirSync(join(directory, '.devcontainer'))
  writeFileSync(join(directory, '.devcontainer/devcontainer.json'), '{"postCreateCommand": "true"}')
  await server.create({ name: 'demo', local_dir: directory })
  expect((await server.api('workspaces/demo')).body.status_reason).toBeUndefined()
  await server.api('workspaces/demo/stop', 'POST')
  expect((await server.api('workspaces/demo')).body.status_reason).toEqual({
    reason: 'a client requested the stop',
    before: 'running: it is ready',
    remedy: 'start it with "workspace start demo"',
  })
  const { status_reason: listed } = (await server.api('workspaces')).body.workspaces[0]
  expect(listed).toEqual((await server.api('workspaces/demo')).body.status_reason)
  await server.api('workspaces/demo/start', 'POST')
  expect(await texts()).toEqual([
    'starting: a client requested its creation',
    'phase volume took N s',
    'phase boot took N s',
    'phase hooks took N s',
    'running: it is ready',
    'stopped: a client requested the stop',
    'starting: a client requested the start',
    'phase boot took N s',
    'running: it is ready',
  ])
  const { entries } = (await server.api('workspaces/demo/timeline')).body
  expect(entries[1]).toMatchObject({
    type: 'phase',
    phase: 'volume',
    outcome: 'done',
    duration_ms: expect.any(Number),
    at: expect.stringMatching(/^\d{4}-.*Z$/),
  })
  const metrics = await (await fetch(`${server.url}/metrics`)).text()
  expect(metrics).toContain('workspace_phase_seconds_count{phase="boot",outcome="done"} 2')
  const cli = await workspaceCli(
    ['events', 'demo', '--table'],
    userEnvironment({ WORKSPACE_URL: server.url }),
  )
  expect([cli.status, cli.stderr]).toEqual([0, ''])
  expect(cli.stdout).toMatch(/^TIME +EVENT\n\S+Z +starting: a client requested its creation\n/)
})

test('a start that fails is explained, and its reason does not outlive it', async () => {
  await server.create({ name: 'demo' })
  await server.api('workspaces/demo/stop', 'POST')
  backend.before.set('start', () => {
    throw fault('BACKEND_ERROR', 'no space left on device')
  })
  expect((await server.api('workspaces/demo/start', 'POST')).status).toBe(500)
  expect((await server.api('workspaces/demo')).body.status_reason).toMatchObject({
    reason: 'the start failed (no space left on device)',
    before: expect.stringMatching(/^phase boot failed after \d+\.\d\d s$/),
  })
  backend.before.clear()
  await server.api('workspaces/demo/start', 'POST')
  backend.happen('demo', { is: 'stopped' })
  await expect
    .poll(async () => (await server.api('workspaces/demo')).body.status_reason?.reason)
    .toBe('its main process exited, or somebody stopped it without this server')
  backend.happen('demo', { is: 'error', message: 'its main process exited with status 3' })
  await expect
    .poll(async () => (await server.api('workspaces/demo')).body.status_reason)
    .toMatchObject({
      reason: 'its main process exited with status 3',
      remedy: expect.stringContaining('workspace logs demo'),
    })
})

test('a workspace whose backend does not respond may not run any more', async () => {
  await server.create({ name: 'demo' })
  backend.setAvailable(false)
  const why = {
    reason: 'docker is unavailable; running is the last known status',
    remedy: expect.stringContaining('workspace doctor'),
  }
  const { status, status_reason } = (await server.api('workspaces/demo')).body
  expect([status, status_reason]).toEqual(['running', why])
  const list = ['list', '--table']
  const cli = () => workspaceCli(list, userEnvironment({ WORKSPACE_URL: server.url }))
  expect(await cli()).toMatchObject({ status: 0, stderr: `warning: ${why.reason}\n` })
  backend.setAvailable(true)
  expect((await server.api('workspaces')).body.workspaces).toMatchObject([
    { name: 'demo', status: 'running' },
  ])
  expect((await server.api('workspaces')).body.workspaces[0]).not.toHaveProperty('status_reason')
  expect(await cli()).toMatchObject({ status: 0, stderr: '' })
})

test('a workspace that is being created is explained, and a deleted one has no timeline', async () => {
  const waiting = Promise.withResolvers<void>()
  backend.before.set('started', () => waiting.promise)
  const created = server.create({ name: 'demo' })
  await expect
    .poll(async () => (await server.api('workspaces/demo')).body.status_reason)
    .toMatchObject({
      reason: 'a client requested its creation',
      remedy: expect.stringContaining('wait until'),
    })
  await expect.poll(texts).toContain('phase boot is running')
  waiting.resolve()
  await created
  await server.api('workspaces/demo', 'DELETE')
  expectError(await server.api('workspaces/demo/timeline'), 404, 'WORKSPACE_NOT_FOUND')
})

test('a restarted server knows why a workspace is stopped', async () => {
  await server.create({ name: 'demo' })
  await server.api('workspaces/demo/stop', 'POST')
  const before = await texts()
  const { status_reason } = (await server.api('workspaces/demo')).body
  expect(status_reason.reason).toBe('a client requested the stop')
  server = await server.restart()
  expect(await texts()).toEqual(before)
  expect((await server.api('workspaces/demo')).body.status_reason).toEqual(status_reason)
  await server.api('workspaces/demo', 'DELETE')
  await server.create({ name: 'demo' })
  expect((await texts())[0]).toBe('starting: a client requested its creation')
})
