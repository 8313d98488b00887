import { readFileSync, writeFileSync } from 'node:fs'
import { createServer, request } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import { encodeMessage } from '../../../../../src/workspace/faces/http/e2b/connect-stream.ts'
import { suiteDir } from '../../../../support/temp-dir.ts'
import {
  callStream,
  makeSandbox,
  messagesOf,
  openStream,
  readMessages,
  type SandboxHeaders,
} from '../../../../support/workspace/client/e2b-client.ts'
import { FakeBackend } from '../../../../support/workspace/backend/fake-backend.ts'
import { expectError } from '../../../../support/workspace/server/expect-error.ts'
import {
  call,
  makeWorkspace,
  startWorkspaceServer,
  type TestServer,
} from '../../../../support/workspace/server/test-server.ts'

const TOKEN = 'the-token'
const START = 'process.Process/Start'
const shell = (script: string) => ({ process: { cmd: '/bin/sh', args: ['-c', script] }, stdin: false })
const idOf = (sandbox: SandboxHeaders): string => sandbox['e2b-sandbox-id'] ?? ''

describe('the interface for clients of E2B', () => {
  let server: TestServer
  let sandbox: SandboxHeaders
  const folder = suiteDir()
  const post = (path: string, body: unknown, headers: SandboxHeaders = {}) =>
    call(`${server.url}/e2b/${path}`, 'POST', body, headers)
  const fileUrl = (path: string) => `${server.url}/e2b/files?path=${encodeURIComponent(path)}`
  beforeAll(async () => {
    server = await startWorkspaceServer({
      backends: () => [new FakeBackend()],
      settings: { e2b: { enabled: true }, audit: { file: join(folder.path, 'audit') } },
    })
    sandbox = await makeSandbox(server.url)
  })
  afterAll(() => server.stop())

  const list = async (): Promise<number> => {
    const { body } = await post('process.Process/List', {}, sandbox)
    return (body as { processes: readonly unknown[] }).processes.length
  }

  test.each([
    ['no bytes', Buffer.alloc(0), 'has no message'],
    ['half a prefix', Buffer.from([0, 0]), 'ends within a message'],
    ['half a message', encodeMessage({}).subarray(0, -1), 'ends within a message'],
    ['a message over the limit', Buffer.from([0, 255, 255, 255, 255]), '4294967295 bytes'],
    ['a compressed message', encodeMessage({}, 1), 'compressed'],
    ['the end before a message', encodeMessage({}, 2), 'has no message'],
    ['no JSON', Buffer.from([0, 0, 0, 0, 1, 123]), 'not valid JSON'],
    ['a list', encodeMessage([]), 'must be object'],
    ['deep nesting', Buffer.from(`\0\0\0\0\u007f${'['.repeat(127)}`), 'nested deeper'],
    ['no program', encodeMessage({ process: {} }), "'cmd'"],
    ['a NUL byte', encodeMessage({ process: { cmd: 'a\0b' } }), 'NUL'],
    ['an invalid variable', encodeMessage({ process: { cmd: 'true', envs: { 'A=B': '' } } }), 'variable'],
  ])('a stream that sends %s gets an error at its end', async (_what, body, message) => {
    const response = await openStream(server.url, START, body, sandbox)
    expect(response.statusCode).toBe(200)
    const error = { code: 'invalid_argument', message: expect.stringContaining(message) }
    expect(await messagesOf(response)).toEqual([{ error }])
  })

  test('an invalid user is refused', async () => {
    const authorization = `Basic ${Buffer.from('a b:').toString('base64')}`
    const [answer] = await callStream(server.url, START, shell('true'), { ...sandbox, authorization })
    expect(answer).toMatchObject({
      error: { code: 'invalid_argument', message: expect.stringContaining('"a b"') },
    })
  })

  test('a stream has the start, the output and the end of a command', async () => {
    expect(await callStream(server.url, START, shell('printf "\\377"; exit 4'), sandbox)).toEqual([
      { event: { start: { pid: expect.any(Number) } } },
      { event: { data: { stdout: '/w==' } } },
      { event: { end: { exitCode: 4, exited: true, status: 'exit status 4', error: 'exit status 4' } } },
      {},
    ])
  })

  test('a command outlives its client until its own timeout', { tags: ['long'] }, async () => {
    const limit = { ...sandbox, 'connect-timeout-ms': '3000' }
    const response = await openStream(server.url, START, encodeMessage(shell('sleep 100')), limit)
    for await (const message of readMessages(response)) {
      expect(message).toHaveProperty('event.start')
      break
    }
    response.destroy()
    expect(await list()).toBe(1)
    await expect.poll(list).toBe(0)
  })

  test('a stream whose time is up ends with an error', async () => {
    const limit = { ...sandbox, 'connect-timeout-ms': '200' }
    const messages = await callStream(server.url, START, shell('sleep 100'), limit)
    expect(messages.at(-1)).toMatchObject({ error: { code: 'deadline_exceeded' } })
  })

  test('more commands than the limit are refused', { tags: ['long'] }, async () => {
    const start = () => openStream(server.url, START, encodeMessage(shell('sleep 100')), sandbox)
    const running = await Promise.all(Array.from({ length: 64 }, start))
    await expect.poll(list).toBe(64)
    expect(await callStream(server.url, START, shell('true'), sandbox)).toMatchObject([
      { error: { code: 'resource_exhausted' } },
    ])
    const { body } = await post('process.Process/List', {}, sandbox)
    for (const { pid } of (body as { processes: readonly { pid: number }[] }).processes)
      await post('process.Process/SendSignal', { process: { pid }, signal: 'SIGNAL_SIGKILL' }, sandbox)
    for (const response of running) expect((await messagesOf(response)).at(-1)).toEqual({})
    expect(await list()).toBe(0)
  })

  test.each([
    ['SendInput', { process: { pid: 4_000_000 } }],
    ['SendSignal', { process: { tag: 'none' }, signal: 'SIGNAL_SIGTERM' }],
    ['CloseStdin', { process: { pid: 4_000_000 } }],
    ['Update', { process: { pid: 4_000_000 }, pty: { size: { cols: 1, rows: 1 } } }],
  ])('%s for a command that does not run is answered with 404', async (method, message) => {
    const { status, body } = await post(`process.Process/${method}`, message, sandbox)
    expect([status, body]).toMatchObject([404, { code: 'not_found' }])
  })

  test('a message that violates its schema is answered with 400', async () => {
    const { status, body } = await post('process.Process/SendSignal', { process: {}, signal: 'x' }, sandbox)
    expect([status, body]).toMatchObject([400, { code: 'invalid_argument' }])
  })

  test('a request without a sandbox, and one for a workspace that is none, do not reach any', async () => {
    const name = 'no-sandbox'
    await makeWorkspace(server.url, { name })
    expect(await post('process.Process/List', {})).toMatchObject({ status: 400 })
    const inside = await post('process.Process/List', {}, { 'e2b-sandbox-id': name })
    expect(inside).toMatchObject({ status: 502, body: { message: expect.stringContaining('was not found') } })
    for (const id of [name, 'a..b', 'a%2F..%2Fb'])
      expect(await call(`${server.url}/e2b/sandboxes/${id}`)).toMatchObject({
        status: 404,
        body: { code: 404 },
      })
  })

  test('requests that pages of other origins cause are refused', async () => {
    const { status, body } = await post('sandboxes', { templateID: 'base' }, { origin: 'http://evil.test' })
    expect([status, body]).toMatchObject([403, { code: 403, message: expect.stringContaining('evil.test') }])
  })

  test.each([
    [{ mcp: { a: {} } }, 'mcp'],
    [{ iam: { tokens: {} } }, 'iam'],
    [{ volumeMounts: [{}] }, 'volumeMounts'],
    [{ network: { denyOut: ['1.1.1.1'] } }, 'network.denyOut'],
    [{ autoPause: true }, 'keepMemory'],
    [{ envVars: { 'A-B': '' } }, 'A-B'],
    [{ metadata: { 'a b': '' } }, 'a b'],
    [{ timeout: -1 }, 'timeout'],
    [{ templateID: '' }, 'templateID'],
  ])('a sandbox with %j is refused', async (options, message) => {
    const { status, body } = await post('sandboxes', { templateID: 'base', ...options })
    expect([status, body]).toMatchObject([400, { code: 400, message: expect.stringContaining(message) }])
  })

  test('unknown options are accepted, and calls that are not supported fail with 501', async () => {
    const { status, body } = await post('sandboxes', {
      templateID: 'base',
      secure: true,
      volumeMounts: [],
      mcp: null,
    })
    expect(status).toBe(201)
    const { sandboxID } = body as { sandboxID: string }
    expect(await post(`sandboxes/${sandboxID}/fork`, {})).toMatchObject({ status: 501, body: { code: 501 } })
    expect(await call(`${server.url}/e2b/sandboxes/${sandboxID}`, 'DELETE')).toMatchObject({ status: 204 })
  })

  test('a list is filtered and comes in pages', async () => {
    const made = []
    for (const team of ['x', 'y', 'x'])
      made.push(await makeSandbox(server.url, { metadata: { team, 'a.b': 'ä &=' } }))
    const [first = '', , third = ''] = made.map(idOf)
    const metadata = `&metadata=${encodeURIComponent('team=x&a.b=%25C3%25A4%2520%2526%253D')}`
    const pageOf = async (query: string) => {
      const { body, headers } = await call(`${server.url}/e2b/v2/sandboxes?${query}`)
      return [body.map((each: { sandboxID: string }) => each.sandboxID), headers.get('x-next-token')]
    }
    expect(await pageOf(`limit=1${metadata}`)).toEqual([[first], '1'])
    expect(await pageOf(`limit=1&nextToken=1${metadata}`)).toEqual([[third], null])
    expect(await pageOf(`order=desc${metadata}`)).toEqual([[third, first], null])
    expect(await pageOf(`state=paused${metadata}`)).toEqual([[], null])
    for (const id of made) await call(`${server.url}/e2b/sandboxes/${idOf(id)}`, 'DELETE')
  })

  test('connecting extends the time of a sandbox and never shortens it; a paused one starts with a new time', async () => {
    const made = await makeSandbox(server.url, { timeout: 600 })
    const secondsAfter = async (path: string, body: unknown): Promise<number> => {
      await post(`sandboxes/${idOf(made)}/${path}`, body)
      const info = await call(`${server.url}/e2b/sandboxes/${idOf(made)}`)
      return Math.round((Date.parse(info.body.endAt) - Date.now()) / 60_000) * 60
    }
    expect(await secondsAfter('connect', { timeout: 300 })).toBe(600)
    expect(await secondsAfter('connect', { timeout: 900 })).toBe(900)
    expect(await secondsAfter('timeout', { timeout: 300 })).toBe(300)
    expect(await secondsAfter('pause', { memory: false })).toBeGreaterThan(1e6)
    expect(await post(`sandboxes/${idOf(made)}/pause`, {})).toMatchObject({ status: 409 })
    expect(await secondsAfter('connect', {})).toBe(300)
  })

  test('a timeout of 0 ends a sandbox', { tags: ['long'] }, async () => {
    const made = await makeSandbox(server.url)
    expect(await post(`sandboxes/${idOf(made)}/timeout`, { timeout: 0 })).toMatchObject({ status: 204 })
    await expect.poll(async () => (await call(`${server.url}/e2b/sandboxes/${idOf(made)}`)).status).toBe(404)
  })

  test(
    'a sandbox is deleted when its timeout ends, although a command runs in it',
    { tags: ['long'] },
    async () => {
      const short = await makeSandbox(server.url, { timeout: 1 })
      const response = await openStream(server.url, START, encodeMessage(shell('sleep 100')), short)
      response.resume()
      onTestFinished(() => void response.destroy())
      const status = async () => (await call(`${server.url}/e2b/sandboxes/${idOf(short)}`)).status
      await expect.poll(status).toBe(404)
    },
  )

  test('an upload that is cut off leaves the old content, and nothing else', async () => {
    await post('filesystem.Filesystem/MakeDir', { path: 'cut' }, sandbox)
    await fetch(fileUrl('cut/file'), { method: 'POST', headers: { ...sandbox, ...BINARY }, body: 'old' })
    const part = 'content-disposition: form-data; name="file"; filename="f"\r\n\r\n'
    const types = [BINARY, { 'content-type': 'multipart/form-data; boundary=b' }]
    for (const [i, type] of types.entries()) {
      const upload = request(fileUrl('cut/file'), { method: 'POST', headers: { ...sandbox, ...type } })
      upload.on('error', () => undefined)
      const begin = i === 0 ? '' : `--b\r\n${part}`
      await new Promise((resolve) => upload.write(begin + 'x'.repeat(200_000), resolve))
      upload.destroy()
    }
    const files = async () => {
      const { body } = await post('filesystem.Filesystem/ListDir', { path: 'cut' }, sandbox)
      return body.entries.map((each: { name: string }) => each.name)
    }
    await expect.poll(files).toEqual(['file'])
    expect(await (await fetch(fileUrl('cut/file'), { headers: sandbox })).text()).toBe('old')
    expect(server.log()).not.toContain('"level":50')
  })

  test.each([
    ['no boundary', 'multipart/form-data', '', '?path=f', 400],
    ['no files', 'multipart/form-data; boundary=b', '--b--\r\n', '?path=f', 400],
    ['an incomplete form', 'multipart/form-data; boundary=b', '--b\r\n', '?path=f', 400],
    ['no path', 'application/octet-stream', 'x', '', 400],
    ['a repeated path', 'application/octet-stream', 'x', '?path=a&path=b', 400],
    ['a directory as its path', 'application/octet-stream', 'x'.repeat(300_000), '?path=/workspace', 409],
    ['an invalid user', 'application/octet-stream', 'x', '?path=f&username=a%20b', 400],
    ['data that is not compressed', 'application/octet-stream', 'x', '?path=zip', 400],
  ])('an upload with %s is refused', async (what, type, body, query, status) => {
    const headers = {
      ...sandbox,
      'content-type': type,
      ...(what.includes('compressed') && { 'content-encoding': 'gzip' }),
    }
    const response = await fetch(`${server.url}/e2b/files${query}`, { method: 'POST', headers, body })
    expect([response.status, await response.json()]).toMatchObject([status, { code: status }])
  })

  test('a watcher reports changes once, until it is removed', async () => {
    await post('filesystem.Filesystem/MakeDir', { path: 'watched' }, sandbox)
    const { body } = await post('filesystem.Filesystem/CreateWatcher', { path: 'watched' }, sandbox)
    const take = async () => (await post('filesystem.Filesystem/GetWatcherEvents', body, sandbox)).body.events
    await post('filesystem.Filesystem/MakeDir', { path: 'watched/new' }, sandbox)
    await expect.poll(take).toEqual([{ name: 'new', type: 'EVENT_TYPE_CREATE' }])
    expect(await take()).toEqual([])
    const other = await makeSandbox(server.url)
    expect(await post('filesystem.Filesystem/GetWatcherEvents', body, other)).toMatchObject({ status: 404 })
    expect(await post('filesystem.Filesystem/RemoveWatcher', body, sandbox)).toMatchObject({ status: 200 })
    expect(await post('filesystem.Filesystem/GetWatcherEvents', body, sandbox)).toMatchObject({ status: 404 })
    const missing = await post('filesystem.Filesystem/CreateWatcher', { path: 'missing' }, sandbox)
    expect(missing).toMatchObject({ status: 404, body: { code: 'not_found' } })
  })

  test('the host of a port reaches it, and that of the API only the API', async () => {
    const inside = createServer(({ headers }, response) => response.end(JSON.stringify(headers)))
    await new Promise<void>((resolve) => inside.listen(0, '127.0.0.1', resolve))
    onTestFinished(() => void inside.close())
    const { port } = inside.address() as AddressInfo
    const get = (host: string, path: string) =>
      new Promise<string>((resolve) => {
        const headers = { host: `${host}.localhost:80`, 'e2b-traffic-access-token': 'secret' }
        request(server.url + path, { headers }, (response) => {
          let text = String(response.statusCode)
          response.on('data', (chunk) => (text += ` ${chunk}`)).on('end', () => resolve(text))
        }).end()
      })
    const reached = await get(`${port}-${idOf(sandbox)}`, '/')
    expect(reached).toMatch(/^200 /)
    expect(reached).not.toContain('secret')
    expect(await get('api', `/sandboxes/${idOf(sandbox)}`)).toMatch(/^200 .*"state":"running"/)
    expect(await get('api', '/api/workspaces')).toMatch(/^501 /)
    expect(await get(`49983-${idOf(sandbox)}`, '/health')).toBe('204')
    expect(await get('49983-missing', '/health')).toMatch(/^502 /)
  })

  test('actions are recorded', async () => {
    await callStream(server.url, START, shell('true'), sandbox)
    const recorded = () => readFileSync(join(folder.path, 'audit'), 'utf8')
    await expect.poll(recorded).toMatch(/"exec.run","workspace":"sb/)
    expect(recorded()).toMatch(/"workspace.create","workspace":"sb/)
  })
})

const BINARY = { 'content-type': 'application/octet-stream' }

describe('with a token', () => {
  const folder = suiteDir()
  let server: TestServer
  beforeAll(async () => {
    writeFileSync(join(folder.path, 'token'), TOKEN)
    const backend = new FakeBackend()
    server = await startWorkspaceServer({
      backends: () => [backend],
      settings: { e2b: { enabled: true }, http: { token_file: join(folder.path, 'token') } },
    })
  })
  afterAll(() => server.stop())
  const health = async (headers: SandboxHeaders) =>
    (await fetch(`${server.url}/e2b/health`, { headers })).status

  test('the API requires the key', async () => {
    for (const [headers, status] of [
      [{}, 401],
      [{ 'x-api-key': 'wrong' }, 401],
      [{ authorization: 'Bearer wrong' }, 401],
      [{ 'x-api-key': TOKEN }, 200],
      [{ authorization: `Bearer ${TOKEN}` }, 200],
    ] as const)
      expect(await call(`${server.url}/e2b/sandboxes`, 'GET', undefined, headers)).toMatchObject({ status })
    const { body } = await call(`${server.url}/e2b/anything`)
    expect(body).toEqual({ code: 401, message: expect.stringContaining('E2B_API_KEY') })
  })

  test('the token of a sandbox admits to that sandbox alone, also after a restart', async () => {
    const [one, other] = [await makeSandbox(server.url, {}, TOKEN), await makeSandbox(server.url, {}, TOKEN)]
    const mixed = { ...one, 'x-access-token': other['x-access-token'] ?? '' }
    const bare = { 'e2b-sandbox-id': idOf(one) }
    const expectAdmission = async (): Promise<void> => {
      expect(await health(one)).toBe(204)
      expect(await health(mixed)).toBe(401)
      expect(await health(bare)).toBe(401)
      expect(await health({ ...bare, 'x-api-key': TOKEN })).toBe(204)
      const key = { 'x-api-key': one['x-access-token'] ?? '' }
      expect(await call(`${server.url}/e2b/sandboxes`, 'GET', undefined, key)).toMatchObject({ status: 401 })
      const refused = await openStream(server.url, START, encodeMessage(shell('true')), mixed)
      expect(refused.resume().statusCode).toBe(401)
      for (const method of ['process.Process/List', 'filesystem.Filesystem/Stat'])
        expect(await call(`${server.url}/e2b/${method}`, 'POST', { path: '/' }, mixed)).toMatchObject({
          status: 401,
          body: { code: 'unauthenticated' },
        })
      expect((await fetch(`${server.url}/e2b/files?path=/etc/passwd`, { headers: mixed })).status).toBe(401)
    }
    await expectAdmission()
    server = await server.restart()
    await expectAdmission()
  })
})

test('streams end with the server', async () => {
  const server = await startWorkspaceServer({
    backends: () => [new FakeBackend()],
    settings: { e2b: { enabled: true } },
  })
  const sandbox = await makeSandbox(server.url)
  const response = await openStream(server.url, START, encodeMessage(shell('sleep 100')), sandbox)
  const [messages] = await Promise.all([messagesOf(response), server.stop()])
  expect(messages.at(-1)).toEqual({ error: { code: 'unavailable', message: 'the server is stopping' } })
})

test('without the setting there is no such interface', async () => {
  const server = await startWorkspaceServer({ backends: () => [new FakeBackend()] })
  onTestFinished(server.stop)
  const body = { templateID: 'base' }
  expectError(await call(`${server.url}/e2b/sandboxes`, 'POST', body), 404, 'ROUTE_NOT_FOUND')
})
