import { once } from 'node:events'
import { connect } from 'node:net'
import { PassThrough } from 'node:stream'
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import { abortOnClose } from '../../../src/lib/http/abort-on-close.ts'
import { createHttpServer, type HttpServer } from '../../../src/lib/http/server.ts'
import { createLogger } from '../../../src/lib/log/logger.ts'
import { HOSTS, ORIGINS } from '../../contract/hosts.ts'
import { sendRaw, statusOf } from '../../support/http/raw-http.ts'
import { waitFor } from '../../support/wait-for.ts'

const logger = createLogger({ level: 'silent', format: 'json' })

/** Number of requests for /work. */
let working = 0
/** Answers the request for /held, once there is one. */
let answerHeld: (() => void) | undefined

async function start(options: Partial<Parameters<typeof createHttpServer>[0]> = {}) {
  const server = createHttpServer({
    info: { title: 'test', version: '1', description: 'a test' },
    logger,
    allowedHosts: ['allowed.example'],
    errors: { render: ({ code, message }) => ({ error: { code, message } }), schema: {} },
    ...options,
  })
  server.app.get('/get', () => ({ ok: true }))
  server.app.get('/effect', { config: { hasEffect: true } }, () => ({ ok: true }))
  server.app.post('/post', (request) => ({ body: request.body ?? null }))
  server.app.post('/long', { config: { hasLongBody: true } }, (request) => ({ body: request.body ?? null }))
  server.app.get('/param/:value', (request) => request.params)
  server.app.get('/part/:value', () => ({ ok: true }))
  server.app.delete('/part/:value', () => ({ ok: true }))
  server.app.get('/bug', () => {
    throw new Error('the secret cause')
  })
  server.app.get('/work', async (_request, reply) => {
    const signal = abortOnClose(reply)
    working++
    await once(signal, 'abort')
    working--
    throw signal.reason
  })
  server.app.get('/held', async () => {
    await new Promise<void>((resolve) => (answerHeld = resolve))
    return { ok: true }
  })
  server.app.get('/stream', (_request, reply) => {
    const stream = server.openStream(reply)
    stream.send({ n: 1 })
  })
  const port = await server.listen({ host: '127.0.0.1', port: 0 })
  return { server, port, url: `http://127.0.0.1:${port}` }
}

describe('an HTTP server', () => {
  let server: HttpServer
  let port: number
  let url: string
  beforeAll(async () => ({ server, port, url } = await start()))
  afterAll(() => server.stop())

  const post = (body: string | undefined, type = 'application/json') =>
    fetch(`${url}/post`, {
      method: 'POST',
      headers: { 'content-type': type },
      ...(body !== undefined && { body }),
    })
  const raw = (lines: readonly string[], body = '') =>
    sendRaw(port, `${lines.join('\r\n')}\r\nConnection: close\r\n\r\n${body}`)

  test.each(HOSTS)('H1 a request for host %j returns %i', async (host, status) => {
    for (const path of ['/get', '/openapi.json', '/metrics', '/reference/', '/no-such-route']) {
      const answer = statusOf(await raw([`GET ${path} HTTP/1.1`, `Host: ${host}`]))
      expect(answer, path).toBe(status === 200 && path === '/no-such-route' ? 404 : status)
    }
  })

  test('H1 "*" allows every host', async () => {
    const open = await start({ allowedHosts: ['*'] })
    onTestFinished(() => open.server.stop())
    const request = 'GET /get HTTP/1.1\r\nHost: evil.example\r\nConnection: close\r\n\r\n'
    expect(statusOf(await sendRaw(open.port, request))).toBe(200)
  })

  test.each(ORIGINS)('H2 a POST with %j: allowed %s', async (headers, isAllowed) => {
    const own = `127.0.0.1:${port}`
    const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value.replace('HOST', own)}`)
    const answer = await raw(['POST /post HTTP/1.1', `Host: ${own}`, 'Content-Length: 0', ...lines])
    expect(statusOf(answer)).toBe(isAllowed ? 200 : 403)
    if (!isAllowed) expect(answer).toContain('FORBIDDEN_ORIGIN')
    expect(answer.toLowerCase()).not.toContain('access-control')
  })

  test('H3 a GET with an effect is checked like a POST, any other is not', async () => {
    const headers = { 'sec-fetch-site': 'cross-site' }
    expect((await fetch(`${url}/effect`, { headers })).status).toBe(403)
    expect((await fetch(`${url}/get`, { headers })).status).toBe(200)
    expect((await fetch(`${url}/effect`)).status).toBe(200)
  })

  test('H2 a body that a form could send is refused by its type', async () => {
    for (const type of [
      'text/plain',
      'application/x-www-form-urlencoded',
      'multipart/form-data; boundary=x',
    ]) {
      const answer = await post('{"a":1}', type)
      expect(answer.status).toBe(400)
      expect(await answer.json()).toMatchObject({ error: { code: 'INVALID_REQUEST' } })
    }
  })

  test('H4 slow headers, slow bodies and silent sockets are disconnected while others are served', async () => {
    const slow = await start({ timeouts: { headersMs: 300, requestMs: 500, checkMs: 50 } })
    onTestFinished(() => slow.server.stop())
    const heads = [
      'GET /get HTTP/1.1\r\nHost: localhost\r\nX-A',
      'POST /post HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 9\r\n\r\n{"a"',
      '',
    ]
    const closed = heads.map(
      (head) =>
        new Promise<void>((resolve) => {
          const socket = connect(slow.port, '127.0.0.1', () => socket.write(head))
          socket.on('error', () => undefined)
          socket.resume().on('close', () => resolve())
        }),
    )
    expect((await fetch(`${slow.url}/get`)).status).toBe(200)
    await Promise.all(closed)
  })

  test('a route with long bodies awaits one beyond the time limit, and other requests of its connection are limited', async () => {
    const slow = await start({ timeouts: { headersMs: 100, requestMs: 100, checkMs: 20 } })
    onTestFinished(() => slow.server.stop())
    const socket = connect(slow.port, '127.0.0.1')
    onTestFinished(() => void socket.destroy())
    const head = (path: string) =>
      `POST ${path} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 2\r\n\r\n`
    let received = ''
    socket.setEncoding('utf8').on('data', (text: string) => (received += text))
    const closed = once(socket, 'close')
    socket.write(head('/long'))
    // Requests that begin later and are refused show that the limit has passed.
    for (let i = 0; i < 2; i++) {
      const late = connect(slow.port, '127.0.0.1', () => late.write(head('/post')))
      await once(late.resume(), 'close')
    }
    socket.write('{}')
    await waitFor('the response', () => received.includes('200 OK'))
    socket.write(head('/post'))
    await closed
    expect(received).toContain('408 Request Timeout')
  })

  test('H5 headers over 16 KiB return 431, a body over 1 MiB 413, and both pass at the limit', async () => {
    const headers = (bytes: number) =>
      raw(['GET /get HTTP/1.1', 'Host: localhost', `X: ${'x'.repeat(bytes)}`])
    expect(statusOf(await headers(15_000))).toBe(200)
    const refused = await headers(17_000)
    expect(statusOf(refused)).toBe(431)
    expect(refused).toContain("the request's URL and headers exceed 16 KiB")
    const body = (bytes: number) => post(JSON.stringify('x'.repeat(bytes - 2)))
    expect((await body(2 ** 20 - 1)).status).toBe(200)
    expect((await body(2 ** 20)).status).toBe(200)
    const over = await body(2 ** 20 + 1)
    expect(over.status).toBe(413)
    expect(await over.json()).toMatchObject({ error: { code: 'REQUEST_TOO_LARGE' } })
  })

  test('H5 JSON may be 64 levels deep', async () => {
    const nested = (levels: number) => post('['.repeat(levels) + ']'.repeat(levels))
    expect((await nested(63)).status).toBe(200)
    expect((await nested(64)).status).toBe(200)
    expect((await nested(65)).status).toBe(400)
    expect((await post(JSON.stringify('[[['.repeat(100)))).status).toBe(200)
  })

  test('H5 a parameter may have 2,048 characters', async () => {
    expect((await fetch(`${url}/param/${'x'.repeat(2048)}`)).status).toBe(200)
    expect((await fetch(`${url}/param/${'x'.repeat(2049)}`)).status).toBeGreaterThanOrEqual(400)
  })

  test.each([
    'POST /post HTTP/1.1\r\nHost: localhost\r\nContent-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n',
    'POST /post HTTP/1.1\r\nHost: localhost\r\nContent-Length: 4\r\nContent-Length: 5\r\n\r\n',
    'POST /post HTTP/1.1\r\nHost: localhost\r\nContent-Length: +4\r\n\r\nabcd',
    'POST /post HTTP/1.1\r\nHost: localhost\r\nContent-Length: -1\r\n\r\n',
    'POST /post HTTP/1.1\r\nHost: localhost\r\nContent-Length: 4,4\r\n\r\nabcd',
    'POST /post HTTP/1.1\r\nHost: localhost\r\nContent-Length: 0x4\r\n\r\nabcd',
    'POST /post HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: xchunked\r\n\r\n0\r\n\r\n',
    'POST /post HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked, identity\r\n\r\n0\r\n\r\n',
    'POST /post HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding : chunked\r\n\r\n0\r\n\r\n',
    'GET /get HTTP/1.1\nHost: localhost\n\n',
    'GET /get HTTP/1.1\r\nHost: localhost\r\nX: a\r\r\n\r\n',
    'GET /get HTTP/1.1\r\nHost: localhost\r\nX: a\r\n b\r\n\r\n',
    'GET /get HTTP/1.1\r\nHost : localhost\r\n\r\n',
    'GET /get HTTP/1.1\r\nHost: localhost\r\nX\0: a\r\n\r\n',
    'GET /get HTTP/1.1\r\nHost: localhost\r\n: a\r\n\r\n',
    'POST /post HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n1;a\nb\r\nx\r\n0\r\n\r\n',
    'POST /post HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\nx\r\n0\r\n\r\n',
    'GET /get HTTP/9.9\r\nHost: localhost\r\n\r\n',
    'nonsense\r\n\r\n',
  ])('H6 %j is refused', async (request) => {
    const answer = await sendRaw(port, request)
    expect(statusOf(answer)).toBeGreaterThanOrEqual(400)
    expect(statusOf(answer)).toBeLessThan(500)
    expect(answer.match(/^HTTP\/1\.1 /gm)).toHaveLength(1)
  })

  test('H7 two Host headers, another host in the request line and no host at all are refused', async () => {
    expect(statusOf(await raw(['GET /get HTTP/1.1', 'Host: localhost', 'Host: localhost']))).toBe(400)
    expect(statusOf(await raw(['GET http://evil.example/get HTTP/1.1', 'Host: localhost']))).toBe(400)
    expect(statusOf(await raw(['GET /get HTTP/1.0']))).toBe(400)
  })

  test('H8 a decoded parameter reaches the route unchanged', async () => {
    const answer = await fetch(`${url}/param/%2e%2e%2fa%00%0a`)
    expect(await answer.json()).toEqual({ value: '../a\0\n' })
    expect((await fetch(`${url}/param/%zz`)).status).toBe(400)
  })

  test('H9 a body cannot set a prototype', async () => {
    expect((await post('{"__proto__":{"x":1}}')).status).toBe(400)
    expect((await post('{"constructor":{"prototype":{"x":1}}}')).status).toBe(400)
  })

  test('a bug causes an internal error that hides its cause', async () => {
    const answer = await fetch(`${url}/bug`)
    expect(answer.status).toBe(500)
    const body = await answer.text()
    expect(body).toContain('INTERNAL_ERROR')
    expect(body).not.toContain('secret')
  })

  test('an empty body, invalid JSON and an unknown route have specific errors', async () => {
    expect(await (await fetch(`${url}/post`, { method: 'POST' })).json()).toEqual({ body: null })
    expect((await post('{')).status).toBe(400)
    const missing = await fetch(`${url}/nowhere`)
    expect(missing.status).toBe(404)
    expect(await missing.json()).toMatchObject({ error: { code: 'ROUTE_NOT_FOUND' } })
  })

  test.each([
    ['/get', ['POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS', 'PROPFIND'], 'GET, HEAD'],
    ['/get?x=1', ['DELETE'], 'GET, HEAD'],
    ['/post', ['GET', 'HEAD', 'PUT'], 'POST'],
    ['/part/a.b', ['PUT'], 'DELETE, GET, HEAD'],
    ['/openapi.json', ['POST'], 'GET, HEAD'],
    ['/reference/a/b', ['POST'], 'GET, HEAD'],
  ])('%s lists its methods in response to an unsupported one', async (path, methods, allow) => {
    for (const method of methods) {
      const answer = await fetch(`${url}${path}`, { method })
      expect([method, answer.status, answer.headers.get('allow')]).toEqual([method, 405, allow])
      const text = await answer.text()
      if (method !== 'HEAD') expect(JSON.parse(text)).toMatchObject({ error: { code: 'METHOD_NOT_ALLOWED' } })
    }
  })

  test('a method that fetch cannot send gets the same response', async () => {
    const answer = await raw(['TRACE /get HTTP/1.1', 'Host: 127.0.0.1'])
    expect(answer).toMatch(/^HTTP\/1\.1 405 [^]*\r\nallow: GET, HEAD\r\n/)
  })

  test.each(['/getx', '/part', '/part/a/b', '/GET'])(
    '%s is an unknown route for every method',
    async (path) => {
      const answer = await fetch(`${url}${path}`, { method: 'DELETE' })
      expect([answer.status, answer.headers.get('allow')]).toEqual([404, null])
    },
  )

  test('the description, the reference page and the metrics are served', async () => {
    expect(await (await fetch(`${url}/openapi.json`)).json()).toMatchObject({ openapi: '3.1.0' })
    expect(await (await fetch(`${url}/reference/`)).text()).toContain('<html')
    const metrics = await (await fetch(`${url}/metrics`)).text()
    expect(metrics).toContain('http_request_duration_seconds_count{method="GET",route="/get",status="200"}')
    expect(metrics).toContain('process_resident_memory_bytes')
  })

  test('a configured token is required and compared completely', async () => {
    const closed = await start({ token: 'right' })
    onTestFinished(() => closed.server.stop())
    const ask = async (authorization?: string) =>
      (await fetch(`${closed.url}/get`, { headers: { ...(authorization && { authorization }) } })).status
    expect(await ask()).toBe(401)
    for (const wrong of ['right', 'Bearer wrong', 'Bearer righ', 'Bearer rightt', 'Basic right', 'Bearer ']) {
      expect(await ask(wrong), wrong).toBe(401)
    }
    expect(await ask('Bearer right')).toBe(200)
  })

  test('F36 stop ends streams, lets a running request finish and refuses new ones', async () => {
    const stopping = await start()
    const stream = await fetch(`${stopping.url}/stream`)
    const running = fetch(`${stopping.url}/held`)
    await waitFor('the request', () => answerHeld !== undefined)
    const stopped = stopping.server.stop()
    // Ended properly, not cut off like requests that exceed the grace period.
    expect(await stream.text()).toBe('data: {"n":1}\n\n')
    answerHeld?.()
    expect((await running).status).toBe(200)
    await stopped
    await expect(fetch(`${stopping.url}/get`)).rejects.toThrow('fetch failed')
  })
})

test('work that ends because its client disconnected is not logged as an error', async () => {
  let log = ''
  const destination = new PassThrough().setEncoding('utf8').on('data', (text: string) => (log += text))
  const { server, port, url } = await start({
    logger: createLogger({ level: 'debug', format: 'json', destination }),
  })
  onTestFinished(() => server.stop())
  const socket = connect(port, '127.0.0.1')
  socket.write('GET /work HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n')
  await waitFor('the work to begin', () => working === 1)
  socket.destroy()
  await waitFor('the work to end', () => working === 0)
  await fetch(`${url}/bug`)
  await waitFor('the error of the other request', () => log.includes('the secret cause'))
  expect(log).not.toContain('the client disconnected')
})
