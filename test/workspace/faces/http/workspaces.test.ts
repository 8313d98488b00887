import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { FakeBackend } from '../../../support/workspace/backend/fake-backend.ts'
import { waitFor } from '../../../support/wait-for.ts'
import { call, startWorkspaceServer, type TestServer } from '../../../support/workspace/server/test-server.ts'

describe('the workspace routes', () => {
  let backend: FakeBackend
  let server: TestServer
  beforeEach(async () => {
    backend = new FakeBackend()
    server = await startWorkspaceServer({ backends: () => [backend] })
  })
  afterEach(() => server.stop())

  const api = (path: string, method?: string, body?: unknown, headers?: Record<string, string>) =>
    call(`${server.url}/api/${path}`, method, body, headers)
  const create = (body: unknown, headers?: Record<string, string>) => api('workspaces', 'POST', body, headers)
  const expectError = (answer: { status: number; body: unknown }, status: number, code: string) => {
    expect(answer.body).toEqual({ error: { code, message: expect.any(String) } })
    expect(answer.status).toBe(status)
  }

  test('the status of a workspace follows the transition table', async () => {
    await create({ name: 'demo' })
    expectError(await api('workspaces/demo/start', 'POST'), 409, 'WORKSPACE_ALREADY_RUNNING')
    expect(await api('workspaces/demo/stop', 'POST')).toMatchObject({
      status: 200,
      body: { status: 'stopped' },
    })
    expectError(await api('workspaces/demo/stop', 'POST'), 409, 'WORKSPACE_ALREADY_STOPPED')
    expect(await api('workspaces/demo/start', 'POST')).toMatchObject({
      status: 200,
      body: { status: 'running' },
    })
    expect(await api('workspaces/demo', 'DELETE')).toMatchObject({ status: 204, body: undefined })
    for (const [path, method] of [
      ['workspaces/demo', 'GET'],
      ['workspaces/demo', 'DELETE'],
      ['workspaces/demo/start', 'POST'],
      ['workspaces/demo/stop', 'POST'],
    ] as const) {
      expectError(await api(path, method), 404, 'WORKSPACE_NOT_FOUND')
    }
  })

  test('names are case-insensitive', async () => {
    expect((await create({ name: 'Demo' })).status).toBe(201)
    expectError(await create({ name: 'dEMO' }), 409, 'WORKSPACE_ALREADY_EXISTS')
    expect((await api('workspaces/DEMO')).body).toMatchObject({ name: 'Demo' })
  })

  test('a backend that is disabled or whose engine is down is unavailable', async () => {
    expectError(await create({ name: 'x', backend: 'firecracker' }), 503, 'BACKEND_UNAVAILABLE')
    await create({ name: 'demo' })
    backend.isAvailable = false
    expectError(await create({ name: 'y' }), 503, 'BACKEND_UNAVAILABLE')
    expectError(await api('workspaces/demo/stop', 'POST'), 503, 'BACKEND_UNAVAILABLE')
    expect(await api('info')).toMatchObject({ body: { enabled_backends: [] } })
    expect((await api('workspaces/demo')).body).toMatchObject({ status: 'running' })
  })

  test('W9 keep_volume accepts only true and false, and anything else is refused without effect', async () => {
    await create({ name: 'demo' })
    for (const value of [
      'TRUE',
      'True',
      'FALSE',
      'yes',
      'no',
      '1',
      '0',
      'on',
      '',
      ' true',
      'true ',
      'null',
      'true&keep_volume=false',
    ]) {
      expectError(
        await api(`workspaces/demo?keep_volume=${value.replaceAll(' ', '%20')}`, 'DELETE'),
        400,
        'INVALID_REQUEST',
      )
    }
    expect((await api('workspaces/demo')).status).toBe(200)
    expect((await api('workspaces/demo?keep_volume=true', 'DELETE')).status).toBe(204)
    expect(await backend.hasVolume('demo')).toBe(true)
    await create({ name: 'demo' })
    expect((await api('workspaces/demo?keep_volume=false', 'DELETE')).status).toBe(204)
    expect(await backend.hasVolume('demo')).toBe(false)
  })

  test('external changes are noticed', async () => {
    await create({ name: 'demo' })
    const becomes = (status: string) =>
      waitFor(status, async () => (await api('workspaces/demo')).body.status === status)
    backend.happen('demo', { is: 'stopped' })
    await becomes('stopped')
    backend.happen('demo', { is: 'error', message: 'it ran out of memory' })
    await becomes('error')
    expect((await api('workspaces/demo')).body).toMatchObject({ error_message: 'it ran out of memory' })
    expect((await api('workspaces/demo/start', 'POST')).status).toBe(200)
    backend.happen('demo', 'gone')
    await becomes('error')
    expectError(await api('workspaces/demo/start', 'POST'), 500, 'BACKEND_ERROR')
    expect((await api('workspaces/demo', 'DELETE')).status).toBe(204)
  })

  test('a restart finds every workspace again', async () => {
    await create({ name: 'one' })
    await create({ name: 'two' })
    await api('workspaces/two/stop', 'POST')
    // Reasons are kept in memory only.
    const list = async () =>
      (await api('workspaces')).body.workspaces.map((each: object) => ({ ...each, status_reason: undefined }))
    const before = await list()
    server = await server.restart()
    expect(before).toHaveLength(2)
    expect(await list()).toEqual(before)
  })

  test('info, host key and disk usage have their fields', async () => {
    await create({ name: 'demo' })
    expect((await api('info')).body).toEqual({
      name: 'test-server',
      version: expect.stringMatching(/^\d+\.\d+\.\d+/),
      ssh_port: server.sshPort,
      http_port: server.httpPort,
      default_backend: 'docker',
      enabled_backends: ['docker'],
    })
    expect((await api('ssh-host-key')).body).toEqual({
      host_key: expect.stringMatching(/^ssh-ed25519 [A-Za-z0-9+/]+=*$/),
    })
    expect((await api('system/df')).body).toMatchObject({
      server_name: 'test-server',
      workspaces: [{ name: 'demo', total: { logical_bytes: 1000, physical_bytes: 4096 } }],
      totals: { all: { logical_bytes: 2000, physical_bytes: 8192 } },
    })
  })
})
