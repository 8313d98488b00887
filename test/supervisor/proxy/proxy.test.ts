import { once } from 'node:events'
import { createServer, type IncomingMessage, request, type ServerResponse } from 'node:http'
import { connect, type AddressInfo } from 'node:net'
import { text } from 'node:stream/consumers'
import { createServer as createTlsServer } from 'node:tls'
import { expect, onTestFinished, test } from 'vitest'
import { readEventStream } from '../../support/http/event-stream.ts'
import { askProxy, type ProxiedRequest } from '../../support/supervisor/proxied.ts'
import { sendRaw, statusOf } from '../../support/http/raw-http.ts'
import { startSupervisor } from '../../support/supervisor/supervisor.ts'
import { waitFor } from '../../support/wait-for.ts'

type Handler = (request: IncomingMessage, response: ServerResponse) => void

/** Runs a test server as the process `web` behind a proxy. */
async function behindProxy(handler: Handler, more: Readonly<Record<string, unknown>> = {}) {
  const server = createServer(handler).listen(0, '127.0.0.1')
  await once(server, 'listening')
  onTestFinished(() => {
    server.closeAllConnections()
    server.close()
  })
  const { port } = server.address() as AddressInfo
  const supervisor = await startSupervisor(
    { web: { cmd: 'echo the last line; exec sleep 1000', proxy: { port } } },
    { proxy: { enabled: true, port: 0, ...more } },
  )
  const { proxyPort } = supervisor.running
  const through = (path: string, options?: ProxiedRequest) => askProxy(proxyPort, path, options)
  return { ...supervisor, server, through, proxyPort }
}

const echo: Handler = (asked, response) => {
  void text(asked).then((body) =>
    response.end(JSON.stringify({ method: asked.method, url: asked.url, headers: asked.headers, body })),
  )
}

test('S11 a process learns the client, host and scheme that a trusted proxy in front names', async () => {
  const headers = {
    'x-forwarded-for': '203.0.113.7',
    'x-forwarded-host': 'dev.example',
    'x-forwarded-proto': 'https',
  }
  const trusted = await behindProxy(echo, { trusted_proxies: ['127.0.0.0/8'] })
  const answer = await trusted.through('/', { headers: { ...headers, forwarded: 'for=6.6.6.6' } })
  const seen = JSON.parse(answer.body).headers
  expect(seen).toMatchObject({ ...headers, 'x-forwarded-for': '203.0.113.7, 127.0.0.1' })
  expect(seen).not.toHaveProperty('forwarded')
})

test('a request reaches its process unchanged, with the forwarded headers', async () => {
  const { through, ask } = await behindProxy(echo)
  const { status, body } = await through('/a%20b?c=d&e', {
    method: 'POST',
    body: 'hello',
    headers: {
      'x-forwarded-for': '6.6.6.6',
      connection: 'x-own, keep-alive',
      'x-own': '1',
      'content-length': '5',
      'keep-alive': 'timeout=1',
      te: 'trailers, gzip',
    },
  })
  expect(status).toBe(200)
  const seen = JSON.parse(body)
  expect(seen).toMatchObject({ method: 'POST', url: '/a%20b?c=d&e', body: 'hello' })
  expect(seen.headers).toMatchObject({
    host: 'web.localhost',
    'x-forwarded-for': '127.0.0.1',
    'x-forwarded-host': 'web.localhost',
    'x-forwarded-proto': 'http',
  })
  // A Connection header removes only hop-by-hop headers.
  expect(seen.headers).toMatchObject({ 'x-own': '1', te: 'trailers' })
  expect(seen.headers).not.toHaveProperty('keep-alive')
  const list = (await ask('/proxy/requests')).body
  expect(list).toMatchObject({ filtered_count: 1, total_count: 1 })
  expect(list.requests[0]).toMatchObject({
    id: '1',
    method: 'POST',
    url: '/a%20b?c=d&e',
    subdomain: 'web',
    status_code: 200,
    remote_addr: '127.0.0.1',
    request_bytes: 5,
    process: 'web',
  })
  expect(Object.keys(list.requests[0]).slice(0, 8)).toEqual([
    'id',
    'timestamp',
    'method',
    'url',
    'subdomain',
    'status_code',
    'duration_ms',
    'remote_addr',
  ])
})

test('requests are filtered, streamed and replayed', async () => {
  const { through, ask, url } = await behindProxy((asked, response) => {
    response.statusCode = asked.url === '/missing' ? 404 : 200
    echo(asked, response)
  })
  const stream = await readEventStream(`${url}/api/v1/proxy/requests/stream?min_status=400`)
  expect((await stream.first(1))[0]).toMatchObject({ event: 'connected', data: {} })
  await through('/found')
  await through('/missing', {
    method: 'POST',
    body: 'again',
    headers: { authorization: 'Bearer x', 'x-api-key': 'k' },
  })
  expect((await stream.first(2))[1]).toMatchObject({ data: { url: '/missing', status_code: 404 } })
  const count = async (query: string) => (await ask(`/proxy/requests?${query}`)).body.filtered_count
  expect(await count('method=post')).toBe(1)
  expect(await count('max_status=399')).toBe(1)
  expect(await count('subdomain=other')).toBe(0)
  expect((await ask('/proxy/requests?limit=1')).body.requests).toMatchObject([{ url: '/missing' }])
  expect((await ask('/proxy/requests')).body.requests).toMatchObject([{ url: '/missing' }, { url: '/found' }])
  expect((await ask('/proxy/requests?limit=1001')).body.requests).toHaveLength(2)
  for (const query of ['limit=-1', 'min_status=abc', 'max_status=1'])
    expect(await ask(`/proxy/requests?${query}`)).toMatchObject({
      status: 400,
      body: { code: 'INVALID_QUERY' },
    })
  expect((await ask('/proxy/requests/2/replay', 'POST')).body).toEqual({ success: true, status_code: 404 })
  await waitFor('the replay', async () => (await count('')) === 3)
  const again = (await ask('/proxy/requests/3')).body
  expect(again.request).toMatchObject({ method: 'POST', url: '/missing', replay_of: '2', request_bytes: 5 })
  expect(JSON.stringify(again.headers)).not.toContain('Bearer')
  expect(again.headers).toContainEqual(['x-api-key', '********'])
  expect(await ask('/proxy/requests/99')).toMatchObject({ status: 404, body: { code: 'REQUEST_NOT_FOUND' } })
})

test('a process that is down is reported with its last lines', async () => {
  const { through, server, ask } = await behindProxy(echo, { hold: '100ms' })
  await waitFor('a line', async () => (await ask('/logs')).body.total_count === 1)
  server.close()
  const page = await through('/')
  expect(page.status).toBe(502)
  expect(page.body).toContain('<h1>web is not listening</h1>')
  expect(page.body).toContain('the last line')
  expect(page.headers['content-security-policy']).toContain("default-src 'none'")
  const json = await through('/', { headers: { accept: 'application/json' } })
  expect(JSON.parse(json.body)).toMatchObject({ lines: ['the last line'] })
})

test('V5 only subdomains of processes are routed, and no request loops', async () => {
  const { through, proxyPort } = await behindProxy(echo)
  for (const host of ['web.localhost', 'WEB.localhost.:80', 'deeper.web.localhost'])
    expect((await through('/', { headers: { host } })).status, host).toBe(200)
  for (const host of [
    'localhost',
    'other.localhost',
    'web.evil',
    'web.localhost.evil',
    'web',
    '127.0.0.1',
    'known.evil',
  ])
    expect((await through('/', { headers: { host } })).status, host).toBe(404)
  expect((await through('/', { headers: { via: '1.1 supervisor' } })).status).toBe(508)
  const raw = async (head: string) =>
    statusOf(await sendRaw(proxyPort, `${head}\r\nConnection: close\r\n\r\n`))
  expect(await raw('GET / HTTP/1.1\r\nHost: web.localhost\r\nHost: web.localhost')).toBe(400)
  expect(await raw('GET http://evil/ HTTP/1.1\r\nHost: web.localhost')).toBe(400)
})

test('H6 ambiguous requests are refused before they reach the process', async () => {
  let seen = 0
  const { proxyPort } = await behindProxy((asked, response) => {
    seen++
    echo(asked, response)
  })
  const wrong = [
    'Transfer-Encoding: chunked\r\nContent-Length: 3\r\n\r\n0\r\n\r\n',
    'Content-Length: 3\r\nContent-Length: 4\r\n\r\nabc',
    'Content-Length: +3\r\n\r\nabc',
    'Transfer-Encoding: xchunked\r\n\r\n0\r\n\r\n',
    'Content-Length : 3\r\n\r\nabc',
    'X: a\r\n b\r\n\r\n',
    'Transfer-Encoding: chunked\r\n\r\n3;\n\r\nabc\r\n0\r\n\r\n',
    'Transfer-Encoding: chunked\r\n\r\nzz\r\n\r\n',
    'Transfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n',
    'Connection: content-length\r\nContent-Length: 3\r\n\r\nabc',
    'Connection: close, Host\r\n\r\n',
    'Connection: Upgrade\r\nUpgrade: websocket\r\nContent-Length: 3\r\n\r\nabc',
  ]
  for (const rest of wrong)
    expect(
      statusOf(await sendRaw(proxyPort, `POST / HTTP/1.1\r\nHost: web.localhost\r\n${rest}`, 500)),
      rest,
    ).toBe(400)
  expect(seen).toBeLessThanOrEqual(2)
})

test('V5 a body is never a request, and a victim never gets its response', async () => {
  const seen: string[] = []
  const { proxyPort } = await behindProxy((asked, response) => {
    seen.push(`${asked.method} ${asked.url} ${asked.headers.cookie ?? ''}`)
    asked.resume()
    asked.on('end', () => response.end(asked.url))
  })
  const smuggled = 'GET /smuggled HTTP/1.1\r\nHost: web.localhost\r\n\r\n'
  for (const method of ['GET', 'HEAD', 'DELETE', 'OPTIONS', 'POST']) {
    const attack = `${method} /a HTTP/1.1\r\nHost: web.localhost\r\nConnection: cookie, x-forwarded-for, close\r\nCookie: c=1\r\nContent-Length: ${smuggled.length}\r\n\r\n`
    expect(statusOf(await sendRaw(proxyPort, attack + smuggled)), method).toBe(200)
    expect((await askProxy(proxyPort, '/victim')).body).toBe('/victim')
    expect(seen.splice(0), method).toEqual([`${method} /a c=1`, 'GET /victim '])
  }
})

test('a process that switches protocols unrequested, or closes, becomes a 502', async () => {
  for (const bytes of ['HTTP/1.1 101 Switching Protocols\r\n\r\n', '']) {
    const { server, through } = await behindProxy(echo)
    server.removeAllListeners('connection')
    server.on('connection', (socket) => socket.end(bytes))
    const { status, body } = await through('/')
    expect(status).toBe(502)
    expect(body).toContain(
      `<h1>web ${bytes === '' ? 'closed the connection' : 'sent an invalid response'}</h1>`,
    )
  }
})

test('a process that expects TLS is named, instead of a lost connection', async () => {
  const { server, through } = await behindProxy(echo)
  server.removeAllListeners('connection')
  const secure = createTlsServer().on('tlsClientError', () => undefined)
  server.on('connection', (socket) => secure.emit('connection', socket))
  const { status, body } = await through('/')
  expect(status).toBe(502)
  expect(body).toContain('<h1>web expects TLS</h1>')
})

test('bodies stream in both directions, and events are not delayed', async () => {
  const { proxyPort } = await behindProxy((asked, response) => {
    response.writeHead(200, { 'content-type': 'text/event-stream' })
    asked.on('data', (bytes: Buffer) => response.write(bytes))
    asked.on('end', () => response.end())
  })
  const asked = request({ port: proxyPort, method: 'POST', headers: { host: 'web.localhost' }, agent: false })
  asked.write('data: one\n\n')
  const [response] = (await once(asked, 'response')) as [IncomingMessage]
  response.setEncoding('utf8')
  expect(await once(response, 'data')).toEqual(['data: one\n\n'])
  asked.write('data: two\n\n')
  expect(await once(response, 'data')).toEqual(['data: two\n\n'])
  asked.end()
  response.resume()
  await once(response, 'end')
})

test('F33 a response that breaks off does not look complete', async () => {
  const { through } = await behindProxy((_asked, response) => {
    response.writeHead(200, { 'transfer-encoding': 'chunked' })
    response.write('half of', () => response.socket?.resetAndDestroy())
  })
  await expect(through('/')).rejects.toThrow('aborted')
})

test('a process that does not respond in time becomes a 504', async () => {
  const { through } = await behindProxy(() => undefined, { timeout: '200ms' })
  expect((await through('/')).status).toBe(504)
})

test('an upgraded connection passes through with early data', async () => {
  const { server, proxyPort, ask } = await behindProxy(echo)
  server.on('upgrade', (asked, socket, head) => {
    socket.write(
      `HTTP/1.1 101 Switching Protocols\r\nUpgrade: ${asked.headers.upgrade}\r\nConnection: Upgrade\r\n\r\nhello `,
    )
    socket.write(head)
    socket.pipe(socket)
  })
  const socket = connect(proxyPort, '127.0.0.1')
  let received = ''
  socket.setEncoding('utf8').on('data', (chunk: string) => (received += chunk))
  socket.write(
    'GET /ws HTTP/1.1\r\nHost: web.localhost\r\nUpgrade: websocket\r\nConnection: keep-alive, Upgrade\r\n\r\nearly ',
  )
  await waitFor('the answer', () => received.includes('hello early '))
  expect(received).toMatch(/^HTTP\/1\.1 101 /)
  socket.write('late')
  await waitFor('the echo', () => received.endsWith('late'))
  socket.destroy()
  expect((await ask('/proxy/requests')).body.requests).toMatchObject([{ url: '/ws', status_code: 101 }])
})
