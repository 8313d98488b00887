import { once } from 'node:events'
import type { IncomingMessage } from 'node:http'
import { connect } from 'node:net'
import { buffer, text } from 'node:stream/consumers'
import { afterAll, beforeAll, describe, expect, onTestFinished, test, vi } from 'vitest'
import { WebSocket, WebSocketServer } from 'ws'
import { FakeBackend } from '../../../support/workspace/backend/fake-backend.ts'
import { ask, serveInside } from '../../../support/workspace/client/port-client.ts'
import { waitFor } from '../../../support/wait-for.ts'
import { startWorkspaceServer, type TestServer } from '../../../support/workspace/server/test-server.ts'

const backend = new FakeBackend()
let server: TestServer
const below = (port: number | string, path = '/') => `/api/workspaces/demo/proxy/${port}${path}`
const hostOf = (port: number | string, workspace = 'demo') =>
  `${port}--${workspace}.localhost:${server.httpPort}`

describe('a port of a workspace', () => {
  const here = () => `127.0.0.1:${server.httpPort}`
  /** A port by host name and by path. */
  const ways = (port: number) => [
    { host: hostOf(port), prefix: '' },
    { host: here(), prefix: below(port, '') },
  ]
  beforeAll(async () => {
    server = await startWorkspaceServer({
      backends: () => [backend],
      settings: { tunnel: { deny_ports: [499] }, http: { ports_domain: 'ports.example' } },
    })
    await server.create({ name: 'demo' })
  })
  afterAll(() => server.stop())

  test('receives method, path, query and body unchanged and returns status and body', async () => {
    const { port } = await serveInside(async (asked, answer) => {
      const sent = await text(asked)
      answer.writeHead(418, { 'x-own': 'yes', 'content-type': 'text/plain' })
      answer.end(`${asked.method} ${asked.url} ${sent}`)
    })
    for (const { host, prefix } of ways(port)) {
      const { answer, status, headers } = await ask(server, host, {
        method: 'PUT',
        path: `${prefix}/a%2Fb//c?d=%20&e`,
        body: 'sent',
      })
      expect(status).toBe(418)
      expect(headers['x-own']).toBe('yes')
      expect(await text(answer)).toBe('PUT /a%2Fb//c?d=%20&e sent')
    }
  })

  test('transfers 20 MiB in either direction unchanged', { tags: ['long'] }, async () => {
    const { port } = await serveInside((asked, answer) => void asked.pipe(answer))
    const data = Buffer.alloc(20 * 2 ** 20, 'abcdefghijk')
    for (const { host, prefix } of ways(port)) {
      const { answer } = await ask(server, host, { method: 'POST', path: `${prefix}/`, body: data })
      expect((await buffer(answer)).equals(data)).toBe(true)
    }
  })

  test('streams its response and is notified when the client disconnects', async () => {
    let hasLeft = 0
    let sayMore = (): void => undefined
    const { port } = await serveInside((_asked, answer) => {
      answer.writeHead(200, { 'content-type': 'text/event-stream' })
      answer.write('data: 1\n\n')
      sayMore = () => answer.write('data: 2\n\n')
      answer.once('close', () => hasLeft++)
    })
    for (const [at, { host, prefix }] of ways(port).entries()) {
      const { answer } = await ask(server, host, { path: `${prefix}/` })
      expect(String((await once(answer, 'data'))[0])).toBe('data: 1\n\n')
      sayMore()
      expect(String((await once(answer, 'data'))[0])).toBe('data: 2\n\n')
      answer.destroy()
      await waitFor('the end', () => hasLeft === at + 1)
    }
  })

  test('a response truncated inside is truncated outside', async () => {
    const { port } = await serveInside((_asked, answer) => {
      answer.writeHead(200, { 'content-length': '1000' })
      answer.write('half', () => answer.destroy())
    })
    for (const { host, prefix } of ways(port)) {
      const { answer } = await ask(server, host, { path: `${prefix}/` })
      await expect(buffer(answer)).rejects.toThrow('aborted')
    }
  })

  test('a WebSocket carries messages in both directions', async () => {
    const { inside, port } = await serveInside((_asked, answer) => answer.end())
    new WebSocketServer({ server: inside, path: '/hmr' }).on('connection', (socket, asked) => {
      socket.send(String(asked.headers.origin))
      socket.on('message', (data, isBinary) => socket.send(data, { binary: isBinary }))
    })
    for (const { host, prefix } of ways(port)) {
      const socket = new WebSocket(`ws://127.0.0.1:${server.httpPort}${prefix}/hmr`, 'hmr', {
        headers: { host },
      })
      onTestFinished(() => socket.terminate())
      const said: string[] = []
      socket.on('message', (data: Buffer) => said.push(data.toString()))
      await once(socket, 'open')
      socket.send('hello')
      await waitFor('the echo', () => said.length === 2)
      expect(said[1]).toBe('hello')
    }
  })

  test('hop-by-hop headers are not forwarded, and the client’s address is', async () => {
    let seen: IncomingMessage['headers'] = {}
    const { port } = await serveInside((asked, answer) => {
      seen = asked.headers
      answer.writeHead(200, { connection: 'x-own', 'x-own': '2', 'proxy-authenticate': 'Basic' }).end()
    })
    for (const { host, prefix } of ways(port)) {
      const { headers } = await ask(server, host, {
        path: `${prefix}/`,
        headers: {
          connection: 'x-own',
          'x-own': '1',
          'x-forwarded-for': 'forged',
          x_forwarded_for: 'forged',
          'keep-alive': 'timeout=1',
          te: 'trailers',
        },
      })
      for (const name of ['keep-alive', 'x_forwarded_for']) expect(seen).not.toHaveProperty(name)
      expect(seen).toMatchObject({
        'x-own': '1',
        te: 'trailers',
        'x-forwarded-for': '127.0.0.1',
        'x-forwarded-host': host,
        'x-forwarded-proto': 'http',
      })
      expect(seen.host).toBe(prefix === '' ? host : `localhost:${port}`)
      expect(headers).toMatchObject({ 'x-own': '2' })
      expect(headers).not.toHaveProperty('proxy-authenticate')
    }
  })

  test('W10 the headers of a trusted proxy in front are forwarded', async () => {
    const trusting = await startWorkspaceServer({
      backends: () => [new FakeBackend()],
      settings: { http: { trusted_proxies: ['127.0.0.1'] } },
    })
    onTestFinished(() => trusting.stop())
    await trusting.create({ name: 'demo' })
    let seen: IncomingMessage['headers'] = {}
    const { port } = await serveInside((asked, answer) => {
      seen = asked.headers
      answer.end()
    })
    await ask(trusting, `${port}--demo.localhost:${trusting.httpPort}`, {
      headers: {
        'x-forwarded-proto': 'https',
        'x-forwarded-host': 'dev.example',
        'x-forwarded-for': '203.0.113.7',
      },
    })
    expect(seen).toMatchObject({
      'x-forwarded-proto': 'https',
      'x-forwarded-host': 'dev.example',
      'x-forwarded-for': '203.0.113.7, 127.0.0.1',
    })
  })

  test('below a path, its responses are sandboxed and cannot affect the server’s host', async () => {
    const { port } = await serveInside((asked, answer) => {
      answer.writeHead(302, {
        location: asked.url === '/away' ? 'https://example.org/' : '/login?x',
        'set-cookie': 'a=b',
        'clear-site-data': '"*"',
        'content-security-policy': "default-src 'self'",
        'service-worker-allowed': '/',
      })
      answer.end(asked.headers.cookie ?? 'none')
    })
    const { answer, headers } = await ask(server, here(), {
      path: below(port),
      headers: { cookie: 'of=host' },
    })
    expect(await text(answer)).toBe('none')
    expect(headers.location).toBe(below(port, '/login?x'))
    expect(headers['content-security-policy']).toContain('sandbox allow-scripts')
    expect(headers['content-security-policy']).not.toContain('allow-same-origin')
    for (const name of ['set-cookie', 'clear-site-data', 'service-worker-allowed'])
      expect(headers).not.toHaveProperty(name)
    expect((await ask(server, here(), { path: below(port, '/away') })).headers.location).toBe(
      'https://example.org/',
    )
  })

  test('at its own host, it keeps its cookies and shares none with other ports', async () => {
    const { port } = await serveInside((asked, answer) => {
      answer.writeHead(200, {
        'set-cookie': ['a=b; Domain =localhost; Path=/', 'workspace-port=evil', 'c=d'],
      })
      answer.end(asked.headers.cookie)
    })
    const { answer, headers } = await ask(server, hostOf(port), {
      headers: { cookie: 'a=b; workspace-port=mine;__Host-workspace-port =mine; c=d' },
    })
    expect(await text(answer)).toBe('a=b; c=d')
    expect(headers['set-cookie']).toEqual(['a=b; Path=/', 'c=d'])
    expect(headers['content-security-policy']).toBeUndefined()
  })

  test('the host of a port does not serve the API', async () => {
    const { port } = await serveInside((_asked, answer) => answer.end('inside'))
    for (const path of ['/api/info', '/metrics', '/openapi.json', '/', '/api/workspaces/demo/proxy/1/'])
      expect(await text((await ask(server, hostOf(port), { path })).answer), path).toBe('inside')
    for (const method of ['DELETE', 'POST'])
      expect(
        await text((await ask(server, hostOf(port), { method, path: '/api/workspaces/demo' })).answer),
      ).toBe('inside')
    expect((await server.api('workspaces/demo')).status).toBe(200)
    const tunnel = await ask(server, hostOf(port), {
      path: '/api/workspaces/demo/connect/1',
      headers: { connection: 'Upgrade', upgrade: 'workspace-tcp' },
    })
    expect(await text(tunnel.answer)).toBe('inside')
  })

  test('a closed port is reported as a page to browsers and as JSON to programs', async () => {
    const { inside, port } = await serveInside(() => undefined)
    inside.close()
    for (const { host, prefix } of ways(port)) {
      const page = await ask(server, host, { path: `${prefix}/`, headers: { accept: 'text/html' } })
      expect(page.status).toBe(502)
      expect(page.headers['content-security-policy']).toContain("default-src 'none'")
      expect(await text(page.answer)).toContain('This port is not responding')
      const json = await ask(server, host, { path: `${prefix}/` })
      expect(JSON.parse(await text(json.answer)).error.code).toBe('CONNECT_FAILED')
    }
  })

  test.each([
    ['a workspace that is not there', 3000, 'nobody', 404, 'WORKSPACE_NOT_FOUND'],
    ['a port that is denied', 499, 'demo', 403, 'PORT_DENIED'],
  ])('%s is refused by host and by path', async (_what, port, workspace, status, code) => {
    const answers = [
      await ask(server, hostOf(port, workspace)),
      await ask(server, here(), { path: `/api/workspaces/${workspace}/proxy/${port}/` }),
    ]
    for (const { answer, ...refusal } of answers) {
      expect(refusal.status).toBe(status)
      expect(JSON.parse(await text(answer)).error.code).toBe(code)
    }
  })

  test.each(['0', '65536', '08', 'x', '-1'])('W7 %s is refused as a port below a path', async (port) => {
    const { status, answer } = await ask(server, here(), { path: below(port) })
    expect(status).toBe(400)
    expect(JSON.parse(await text(answer)).error.code).toBe('INVALID_PORT')
  })

  test('H2 pages of other origins are refused, and those of the same workspace are accepted', async () => {
    const { port } = await serveInside((_asked, answer) => answer.end('done'))
    const post = (origin: string) =>
      ask(server, hostOf(port), { method: 'POST', headers: { origin, 'sec-fetch-site': 'cross-site' } })
    const elsewhere = `http://1--demo.localhost:${server.httpPort + 1}`
    const other = `http://${hostOf(port, 'other')}`
    for (const origin of ['https://evil.example', 'null', other, elsewhere, server.url])
      expect((await post(origin)).status, origin).toBe(403)
    expect((await post(`http://${hostOf(1)}`)).status).toBe(200)
  })

  test('H7 a request that names two hosts does not reach a port', async () => {
    const { port } = await serveInside((_asked, answer) => answer.end('inside'))
    const socket = connect(server.httpPort, '127.0.0.1')
    socket.end(`GET / HTTP/1.1\r\nHost: ${hostOf(port)}\r\nHost: ${here()}\r\n\r\n`)
    expect(await text(socket)).toMatch(/^HTTP\/1\.1 400/)
  })

  test('a request to a port counts as activity of its workspace, and a loop is refused', async () => {
    const { status } = await ask(server, hostOf(3000), { headers: { via: '1.1 workspace' } })
    expect(status).toBe(400)
  })

  test('the URL to open is its own host if the browser can resolve it, else a path', async () => {
    const urlFor = async (host: string) => {
      const asked = await ask(server, host, {
        method: 'POST',
        path: '/api/workspaces/demo/passes',
        headers: { 'content-type': 'application/json' },
        body: '{"for":"port","port":3000}',
      })
      return JSON.parse(await text(asked.answer)).url as string
    }
    const port = server.httpPort
    expect(await urlFor(`localhost:${port}`)).toBe(`http://3000--demo.localhost:${port}/`)
    expect(await urlFor(`127.0.0.1:${port}`)).toBe(`http://3000--demo.localhost:${port}/`)
    expect(await urlFor('192.0.2.1:99')).toBe('http://3000--demo.ports.example:99/')
  })
})

test('F36 a stopping server does not wait for an endless stream from a workspace', async () => {
  const own = await startWorkspaceServer({ backends: () => [backend] })
  await own.create({ name: 'streaming' })
  const { port } = await serveInside((_asked, answer) => void answer.write('begun'))
  const { answer } = await ask(own, `127.0.0.1:${own.httpPort}`, {
    path: `/api/workspaces/streaming/proxy/${port}/`,
  })
  await once(answer, 'data')
  const cut = buffer(answer).catch(String)
  // Open connections are cut after 8 s; fake timers keep that from happening here.
  vi.useFakeTimers({ toFake: ['setTimeout'] })
  onTestFinished(() => void vi.useRealTimers())
  const stopped = own.stop()
  await waitFor('the stop', () => vi.getTimerCount() >= 2)
  vi.advanceTimersByTime(4_000)
  await stopped
  expect(await cut).toContain('aborted')
})
