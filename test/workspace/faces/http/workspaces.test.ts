import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { FakeBackend } from '../../../support/workspace/backend/fake-backend.ts'
import { waitFor } from '../../../support/wait-for.ts'
import { expectError } from '../../../support/workspace/server/expect-error.ts'
import { startWorkspaceServer, type TestServer } from '../../../support/workspace/server/test-server.ts'

describe('the workspace routes', () => {
  let backend: FakeBackend
  let server: TestServer
  beforeEach(async () => {
    backend = new FakeBackend()
    server = await startWorkspaceServer({ backends: () => [backend] })
  })
  afterEach(() => server.stop())

  test('the status of a workspace follows the transition table', async () => {
    await server.create({ name: 'demo' })
    expectError(await server.api('workspaces/demo/start', 'POST'), 409, 'WORKSPACE_ALREADY_RUNNING')
    expect(await server.api('workspaces/demo/stop', 'POST')).toMatchObject({
      status: 200,
      body: { status: 'stopped' },
    })
    expectError(await server.api('workspaces/demo/stop', 'POST'), 409, 'WORKSPACE_ALREADY_STOPPED')
    expect(await server.api('workspaces/demo/start', 'POST')).toMatchObject({
      status: 200,
      body: { status: 'running' },
    })
    expect(await server.api('workspaces/demo', 'DELETE')).toMatchObject({ status: 204, body: undefined })
    for (const [path, method] of [
      ['workspaces/demo', 'GET'],
      ['workspaces/demo', 'DELETE'],
      ['workspaces/demo/start', 'POST'],
      ['workspaces/demo/stop', 'POST'],
    ] as const) {
      expectError(await server.api(path, method), 404, 'WORKSPACE_NOT_FOUND')
    }
  })

  test('names are case-insensitive', async () => {
    expect((await server.create({ name: 'Demo' })).status).toBe(201)
    expectError(await server.create({ name: 'dEMO' }), 409, 'WORKSPACE_ALREADY_EXISTS')
    expect((await server.api('workspaces/DEMO')).body).toMatchObject({ name: 'Demo' })
  })

  test('a backend that is disabled or whose engine is down is unavailable', async () => {
    expectError(await server.create({ name: 'x', backend: 'firecracker' }), 503, 'BACKEND_UNAVAILABLE')
    await server.create({ name: 'demo' })
    backend.isAvailable = false
    expectError(await server.create({ name: 'y' }), 503, 'BACKEND_UNAVAILABLE')
    expectError(await server.api('workspaces/demo/stop', 'POST'), 503, 'BACKEND_UNAVAILABLE')
    expect(await server.api('info')).toMatchObject({ body: { enabled_backends: [] } })
    expect((await server.api('workspaces/demo')).body).toMatchObject({ status: 'running' })
  })

  test('W9 keep_volume accepts only true and false, and anything else is refused without effect', async () => {
    await server.create({ name: 'demo' })
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
        await server.api(`workspaces/demo?keep_volume=${value.replaceAll(' ', '%20')}`, 'DELETE'),
        400,
        'INVALID_REQUEST',
      )
    }
    expect((await server.api('workspaces/demo')).status).toBe(200)
    expect((await server.api('workspaces/demo?keep_volume=true', 'DELETE')).status).toBe(204)
    expect(await backend.hasVolume('demo')).toBe(true)
    await server.create({ name: 'demo' })
    expect((await server.api('workspaces/demo?keep_volume=false', 'DELETE')).status).toBe(204)
    expect(await backend.hasVolume('demo')).toBe(false)
  })

  test('external changes are noticed', async () => {
    await server.create({ name: 'demo' })
    const becomes = (status: string) =>
      waitFor(status, async () => (await server.api('workspaces/demo')).body.status === status)
    backend.happen('demo', { is: 'stopped' })
    await becomes('stopped')
    backend.happen('demo', { is: 'error', message: 'it ran out of memory' })
    await becomes('error')
    expect((await server.api('workspaces/demo')).body).toMatchObject({
      error_message: 'it ran out of memory',
    })
    expect((await server.api('workspaces/demo/start', 'POST')).status).toBe(200)
    backend.happen('demo', 'gone')
    await becomes('error')
    expectError(await server.api('workspaces/demo/start', 'POST'), 500, 'BACKEND_ERROR')
    expect((await server.api('workspaces/demo', 'DELETE')).status).toBe(204)
  })

  test('a restart finds every workspace again', async () => {
    await server.create({ name: 'one' })
    await server.create({ name: 'two' })
    await server.api('workspaces/two/stop', 'POST')
    // Reasons are kept in memory only.
    const list = async () =>
      (await server.api('workspaces')).body.workspaces.map((each: object) => ({
        ...each,
        status_reason: undefined,
      }))
    const before = await list()
    server = await server.restart()
    expect(before).toHaveLength(2)
    expect(await list()).toEqual(before)
  })

  test('info, host key and disk usage have their fields', async () => {
    await server.create({ name: 'demo' })
    expect((await server.api('info')).body).toEqual({
      name: 'test-server',
      version: expect.stringMatching(/^\d+\.\d+\.\d+/),
      ssh_port: server.sshPort,
      http_port: server.httpPort,
      default_backend: 'docker',
      enabled_backends: ['docker'],
    })
    expect((await server.api('ssh-host-key')).body).toEqual({
      host_key: expect.stringMatching(/^ssh-ed25519 [A-Za-z0-9+/]+=*$/),
    })
    expect((await server.api('system/df')).body).toMatchObject({
      server_name: 'test-server',
      workspaces: [{ name: 'demo', total: { logical_bytes: 1000, physical_bytes: 4096 } }],
      totals: { all: { logical_bytes: 2000, physical_bytes: 8192 } },
    })
  })
})
