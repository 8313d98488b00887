import { once } from 'node:events'
import { readFile } from 'node:fs/promises'
import { connect, createServer } from 'node:net'
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import { docker, dockerBackend, uniqueName } from '../../../support/engine/docker.ts'
import { FakeBackend } from '../../../support/workspace/backend/fake-backend.ts'
import { expectError } from '../../../support/workspace/server/expect-error.ts'
import {
  makeWorkspace,
  startWorkspaceServer,
  type TestServer,
} from '../../../support/workspace/server/test-server.ts'

describe('the inside of a container', () => {
  const name = uniqueName('inside')
  let server: TestServer
  const api = (path: string) => server.api(`workspaces/${name}/${path}`)
  beforeAll(async () => {
    server = await startWorkspaceServer({
      backends: () => [dockerBackend()],
      settings: { tunnel: { deny_ports: [499] } },
    })
    await makeWorkspace(server.url, { name })
  })
  afterAll(async () => {
    await server.api(`workspaces/${name}`, 'DELETE')
    await server.stop()
  })

  // Test workspaces share the host's network.
  test('a port is listed while a program listens on it', async () => {
    const inside = createServer()
    await new Promise<void>((resolve) => inside.listen(0, '127.0.0.1', resolve))
    onTestFinished(() => void inside.close())
    const { port } = inside.address() as { port: number }
    const { status, body } = await api('ports')
    expect(status).toBe(200)
    expect(body.ports).toContainEqual({ port, address: '127.0.0.1', process: null })
    inside.close()
    expect((await api('ports')).body.ports).not.toContainEqual(expect.objectContaining({ port }))
  })

  test('a client waits until a program listens on a port', async () => {
    const inside = createServer()
    onTestFinished(() => void inside.close())
    await new Promise<void>((resolve) => inside.listen(0, '127.0.0.1', resolve))
    const { port } = inside.address() as { port: number }
    await new Promise((resolve) => inside.close(resolve))
    const wait = (query: string) => api(`ports/${port}/wait${query}`)
    expect(await wait('?timeout_ms=100')).toMatchObject({
      status: 504,
      body: { error: { code: 'WAIT_TIMED_OUT', message: expect.stringContaining(String(port)) } },
    })
    const waiting = wait('')
    // The first lookup finds nothing, unless this machine is slow.
    await api('ports')
    await new Promise<void>((resolve) => inside.listen(port, '127.0.0.1', resolve))
    expect(await waiting).toMatchObject({ status: 200, body: { port, address: '127.0.0.1', process: null } })
    expect((await wait('?timeout_ms=0')).status).toBe(200)
  })

  test('waiting for a port that is denied or not valid is refused', async () => {
    expectError(await api('ports/499/wait'), 403, 'PORT_DENIED')
    for (const port of ['0', '65536', '1e3', 'x'])
      expectError(await api(`ports/${port}/wait`), 400, 'INVALID_PORT')
    expect((await api('ports/80/wait?timeout_ms=-1')).status).toBe(400)
  })

  test('ports are found among thousands of connections', { tags: ['long'] }, async () => {
    const inside = createServer((connection) => connection.end())
    await new Promise<void>((resolve) => inside.listen(0, '127.0.0.1', resolve))
    onTestFinished(() => void inside.close())
    const { port } = inside.address() as { port: number }
    const tableBytes = async () => (await readFile('/proc/net/tcp', 'utf8')).length
    // A closed connection stays in the table for a minute, or for a second if the kernel needs its port.
    // More than asserted, because connections leave the table meanwhile.
    for (let i = 0; i < 300 && (await tableBytes()) <= 1.2 * 2 ** 20; i++)
      await Promise.all(Array.from({ length: 100 }, () => once(connect(port, '127.0.0.1').resume(), 'close')))
    expect(await tableBytes()).toBeGreaterThan(2 ** 20)
    const { status, body } = await api('ports')
    expect(status).toBe(200)
    expect(body.ports).toContainEqual({ port, address: '127.0.0.1', process: null })
  })

  test('a listening program is named', async () => {
    const listen = '$s = IO::Socket::INET->new(Listen => 1, LocalAddr => "127.0.0.1"); sleep'
    await docker('exec', '-d', `ws-${name}`, 'perl', '-MIO::Socket::INET', '-e', listen)
    const named = async () =>
      ((await api('ports')).body.ports as { process: string | null }[]).filter(
        ({ process }) => process === 'perl',
      )
    await expect.poll(named).toEqual([{ port: expect.any(Number), address: '127.0.0.1', process: 'perl' }])
  })

  test('its log is empty while its main process prints nothing', async () => {
    expect(await api('logs')).toMatchObject({ status: 200, body: { lines: [] } })
  })
})

describe('the log of a workspace', () => {
  const backend = new FakeBackend()
  let server: TestServer
  const lines = async (query = '') =>
    (await server.api(`workspaces/demo/logs${query}`)).body as {
      lines: readonly string[]
      error: { code: string }
    }
  beforeAll(async () => {
    server = await startWorkspaceServer({ backends: () => [backend] })
    await makeWorkspace(server.url, { name: 'demo' })
  })
  afterAll(() => server.stop())

  test('H10 is returned line by line without control characters', async () => {
    backend.printed = 'plain\n\u001B[31mred\u001B[0m\u0007\r\n<b>&\u001B]0;title\u0007\n'
    expect((await lines()).lines).toEqual(['plain', 'red', '<b>&'])
  })

  test('returns the requested number of last lines', async () => {
    backend.printed = Array.from({ length: 1_500 }, (_, at) => `line ${at}\n`).join('')
    expect((await lines()).lines).toHaveLength(200)
    expect((await lines('?lines=2')).lines).toEqual(['line 1498', 'line 1499'])
    for (const wrong of ['0', '1001', '-1', 'all', '1e2'])
      expect((await lines(`?lines=${wrong}`)).error.code, wrong).toBe('INVALID_REQUEST')
  })

  test('is available for a stopped workspace, unlike its ports', async () => {
    backend.printed = 'last words\n'
    await server.api('workspaces/demo/stop', 'POST')
    expect((await server.api('workspaces/demo/ports')).body.error.code).toBe('WORKSPACE_NOT_RUNNING')
    expect((await lines()).lines).toEqual(['last words'])
    expect((await server.api('workspaces/nobody/logs')).status).toBe(404)
  })
})
