import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import type { WireWorkspace } from '../../../../src/workspace/api/workspace.ts'
import { fault } from '../../../../src/workspace/errors.ts'
import { BAD_NAMES, GOOD_NAMES, NO_NAMES } from '../../../contract/names.ts'
import { BAD_REPOS } from '../../../contract/repos.ts'
import { readEventStream } from '../../../support/http/event-stream.ts'
import { FakeBackend } from '../../../support/workspace/backend/fake-backend.ts'
import { tempDir } from '../../../support/temp-dir.ts'
import { waitFor } from '../../../support/wait-for.ts'
import { expectError } from '../../../support/workspace/server/expect-error.ts'
import { startWorkspaceServer, type TestServer } from '../../../support/workspace/server/test-server.ts'

describe('creating by HTTP', () => {
  let backend: FakeBackend
  let server: TestServer
  beforeEach(async () => {
    backend = new FakeBackend()
    server = await startWorkspaceServer({ backends: () => [backend] })
  })
  afterEach(() => server.stop())

  test('create answers 201 with the workspace and omits empty and zero fields', async () => {
    const { status, body } = await server.create({ name: 'demo' })
    expect(status).toBe(201)
    expect(body).toEqual({
      name: 'demo',
      status: 'running',
      created_at: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/),
      repo: '',
      backend: 'docker',
      container_id: 'fake-demo',
      ip_address: '127.0.0.1',
      image: 'workspace-base:1',
      network: { isolated: true, allow_host_ports: [], egress: 'open' },
    })
    expect(await server.api('workspaces')).toMatchObject({ status: 200, body: { workspaces: [body] } })
    expect(await server.api('workspaces/demo')).toMatchObject({ status: 200, body })
  })

  test('every answer with a workspace has its network access', async () => {
    const events = await readEventStream(`${server.url}/api/events`)
    const network = { egress: ['203.0.113.0/24'] }
    const answers = [
      (await server.create({ name: 'demo', network })).body,
      (await server.api('workspaces')).body.workspaces[0],
      (await server.api('workspaces/demo')).body,
      (await server.api('workspaces/demo', 'PATCH', { labels: { a: 'b' } })).body,
      (await server.api('workspaces/demo/stop', 'POST')).body,
      ...(await events.first(2)).slice(1).map(({ data }) => (data as { workspace: WireWorkspace }).workspace),
    ]
    expect(answers.map((each) => each.network)).toEqual(
      Array.from({ length: 6 }, () => ({ isolated: true, allow_host_ports: [], ...network })),
    )
  })

  test('create accepts every field and treats null and empty as omitted', async () => {
    const directory = tempDir()
    const full = {
      name: 'full',
      local_dir: directory,
      image: 'x:1',
      backend: 'docker',
      cpus: 2,
      memory_mb: 512,
    }
    expect((await server.create({ ...full, repo: null })).body).toMatchObject({
      local_dir: directory,
      image: 'x:1',
      cpus: 2,
      memory_mb: 512,
    })
    const empty = {
      name: 'empty',
      repo: '',
      local_dir: '',
      image: '',
      backend: null,
      cpus: null,
      memory_mb: null,
    }
    expect((await server.create(empty)).status).toBe(201)
  })

  test('W1 every route that takes a name refuses every invalid one', async () => {
    for (const name of [...BAD_NAMES, ...NO_NAMES])
      expectError(await server.create({ name }), 400, 'INVALID_WORKSPACE_NAME')
    for (const name of BAD_NAMES.filter((each) => each !== '' && !/^\.+$/.test(each) && each.length < 2048)) {
      const path = `workspaces/${encodeURIComponent(name)}`
      for (const answer of [
        await server.api(path),
        await server.api(path, 'DELETE'),
        await server.api(`${path}/start`, 'POST'),
      ]) {
        expectError(answer, 400, 'INVALID_WORKSPACE_NAME')
      }
    }
    expect((await server.api('workspaces')).body).toEqual({ workspaces: [] })
  })

  test('W1 H9 every valid name can be created, used and deleted', async () => {
    for (const name of GOOD_NAMES.filter((each) => !['A', 'Demo'].includes(each))) {
      expect((await server.create({ name })).status, name).toBe(201)
      expect((await server.api(`workspaces/${name}/stop`, 'POST')).status).toBe(200)
      expect((await server.api(`workspaces/${name}/start`, 'POST')).status).toBe(200)
      expect((await server.api(`workspaces/${name}`, 'DELETE')).status).toBe(204)
    }
  })

  test('W3 every invalid repository is refused before anything is created', async () => {
    for (const repo of BAD_REPOS)
      expectError(await server.create({ name: 'x', repo }), 400, 'INVALID_REPO_URL')
    expect((await server.api('workspaces')).body).toEqual({ workspaces: [] })
  })

  test('W4 invalid directories and a directory together with a repository are refused', async () => {
    for (const path of [
      'relative',
      '/',
      '/etc/passwd',
      '/tmp/../etc',
      '/tmp/a:/etc:ro',
      7,
      server.stateDir,
    ]) {
      expectError(await server.create({ name: 'x', local_dir: path }), 400, 'INVALID_LOCAL_DIR')
    }
    expectError(await server.create({ name: 'x', repo: 'a/b', local_dir: '/tmp' }), 400, 'INVALID_REQUEST')
  })

  test.each([
    ['an unknown field', { name: 'x', nmae: 'y' }],
    ['an unknown backend', { name: 'x', backend: 'podman' }],
    ['a path as image', { name: 'x', image: '../../x' }],
    ['an option as image', { name: 'x', image: '--privileged' }],
    ['an image of 10 kB', { name: 'x', image: 'x'.repeat(10_000) }],
    ['negative CPUs', { name: 'x', cpus: -1 }],
    ['half a CPU', { name: 'x', cpus: 0.5 }],
    ['memory as text', { name: 'x', memory_mb: '512' }],
    ['a list', []],
    ['nothing', undefined],
  ])('W5 create with %s is an invalid request', async (_what, body) => {
    expectError(await server.create(body), 400, 'INVALID_REQUEST')
  })

  test('a failed create reports why and leaves nothing behind', async () => {
    backend.before.set('started', () => {
      throw fault('BACKEND_ERROR', 'the container would not start')
    })
    expectError(await server.create({ name: 'demo' }), 500, 'BACKEND_ERROR')
    expectError(await server.api('workspaces/demo'), 404, 'WORKSPACE_NOT_FOUND')
    expect([await backend.list(), await backend.hasVolume('demo')]).toEqual([[], false])
    backend.before.delete('started')
    expect((await server.create({ name: 'demo' })).status).toBe(201)
  })

  test('a failed clone leaves nothing behind except a volume that existed before', async () => {
    const repo = 'http://127.0.0.1:9/none.git'
    expectError(await server.create({ name: 'demo', repo }), 500, 'CLONE_FAILED')
    expect([await backend.list(), await backend.hasVolume('demo')]).toEqual([[], false])
    await server.create({ name: 'demo' })
    await server.api('workspaces/demo?keep_volume=true', 'DELETE')
    expectError(await server.create({ name: 'demo', repo }), 500, 'CLONE_FAILED')
    expect([await backend.list(), await backend.hasVolume('demo')]).toEqual([[], true])
  })

  test('an incomplete rollback is shown as an error and completed when the engine is back', async () => {
    backend.before.set('started', () => {
      backend.isAvailable = false
      throw fault('BACKEND_UNAVAILABLE', 'the engine went away')
    })
    expectError(await server.create({ name: 'demo' }), 503, 'BACKEND_UNAVAILABLE')
    expect((await server.api('workspaces/demo')).body).toMatchObject({
      status: 'error',
      error_message: expect.stringContaining('the engine went away'),
    })
    backend.before.clear()
    backend.setAvailable(true)
    await waitFor('the rollback', async () => (await server.api('workspaces/demo')).status === 404)
    expect([await backend.list(), await backend.hasVolume('demo')]).toEqual([[], false])
  })

  test('a workspace being created is starting, is busy, and can be deleted', async () => {
    backend.before.set(
      'started',
      (signal) =>
        new Promise((resolve) => {
          if (signal?.aborted === true) resolve()
          else signal?.addEventListener('abort', () => resolve())
        }),
    )
    const creation = server.create({ name: 'demo' })
    await waitFor('its row', async () => (await server.api('workspaces/demo')).status === 200)
    expect((await server.api('workspaces/demo')).body).toMatchObject({ status: 'starting', container_id: '' })
    expectError(await server.create({ name: 'demo' }), 409, 'WORKSPACE_ALREADY_EXISTS')
    expectError(await server.api('workspaces/demo/start', 'POST'), 409, 'WORKSPACE_BUSY')
    expectError(await server.api('workspaces/demo/stop', 'POST'), 409, 'WORKSPACE_BUSY')
    expect((await server.api('workspaces/demo', 'DELETE')).status).toBe(204)
    expectError(await creation, 409, 'WORKSPACE_BUSY')
    expectError(await server.api('workspaces/demo'), 404, 'WORKSPACE_NOT_FOUND')
    expect([await backend.list(), await backend.hasVolume('demo')]).toEqual([[], false])
  })

  test('create streams its progress and ends with the workspace', async () => {
    const answer = await fetch(`${server.url}/api/workspaces`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', accept: 'text/event-stream' },
      body: JSON.stringify({ name: 'demo' }),
    })
    expect(answer.status).toBe(200)
    expect(answer.headers.get('content-type')).toBe('text/event-stream')
    const events = (await answer.text()).trim().split('\n\n')
    expect(events[0]).toBe('event: progress\ndata: {"message":"creating the container"}')
    expect(events.at(-1)).toMatch(/^event: complete\ndata: \{"name":"demo","status":"running",/)
  })

  test('a streamed create that fails ends with code and message; an invalid request is not streamed', async () => {
    backend.before.set('started', () => {
      throw fault('BACKEND_ERROR', 'no luck')
    })
    const stream = (body: unknown) =>
      fetch(`${server.url}/api/workspaces`, {
        method: 'POST',
        headers: { 'content-type': 'application/json', accept: 'text/event-stream' },
        body: JSON.stringify(body),
      })
    const text = await (await stream({ name: 'demo' })).text()
    expect(text.trim().split('\n\n').at(-1)).toBe(
      'event: error\ndata: {"code":"BACKEND_ERROR","message":"no luck"}',
    )
    expect((await stream({ name: '-' })).status).toBe(400)
  })

  test('W12 a password in a repository URL is never shown or logged', async () => {
    await server.create({ name: 'demo', repo: 'http://user:canary-password@127.0.0.1:9/x' })
    await server.create({ name: 'demo', repo: 'http://user:canary-password@127.0.0.1:9/x?y' })
    expect(server.log()).not.toContain('canary-password')
    expect(server.log()).not.toContain(Buffer.from('user:canary-password').toString('base64'))
  })
})
