import { METHODS } from 'node:http'
import { text } from 'node:stream/consumers'
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest'
import { FakeBackend } from '../../../../support/workspace/backend/fake-backend.ts'
import { ask, serveInside } from '../../../../support/workspace/client/port-client.ts'
import { sendRaw, statusOf } from '../../../../support/http/raw-http.ts'
import { startRawUpstream } from '../../../../support/http/raw-upstream.ts'
import { startUpstream } from '../../../../support/workspace/server/egress-proxy.ts'
import {
  makeWorkspace,
  startWorkspaceServer,
  type TestServer,
} from '../../../../support/workspace/server/test-server.ts'

let server: TestServer
beforeAll(async () => {
  server = await startWorkspaceServer({ backends: () => [new FakeBackend()] })
  await makeWorkspace(server.url, { name: 'demo' })
})
afterAll(() => server.stop())

/** A port by host name and by path. */
const ways = (port: number) => [
  { host: `${port}--demo.localhost:${server.httpPort}`, prefix: '' },
  { host: `127.0.0.1:${server.httpPort}`, prefix: `/api/workspaces/demo/proxy/${port}` },
]

test('a target that no router can parse reaches the port unchanged', async () => {
  const { port } = await serveInside((asked, answer) => answer.end(asked.url))
  for (const { host, prefix } of ways(port))
    for (const path of ['/%', '/%zz', '/%2e%2e/%2f', '//a//b', '/../up', '/"<>', `/${'x'.repeat(4_000)}`]) {
      const { status, answer } = await ask(server, host, { path: prefix + path })
      expect([status, await text(answer)], path).toEqual([200, path])
    }
})

test('a response with large headers passes, and an error names the limit', async () => {
  const { port } = await serveInside((asked, answer) => {
    answer.setHeader('x', 'a'.repeat(Number(asked.url?.slice(1))))
    answer.end('ok')
  })
  for (const { host, prefix } of ways(port)) {
    const large = await ask(server, host, { path: `${prefix}/60000` })
    expect([large.status, large.headers['x']?.length, await text(large.answer)]).toEqual([200, 60_000, 'ok'])
    const larger = await ask(server, host, { path: `${prefix}/70000` })
    expect(larger.status).toBe(502)
    expect(await text(larger.answer)).toContain("invalid response: the response's headers exceed 64 KiB")
  }
})

test('a port that expects TLS is named with the remedy', async () => {
  const { port, close } = await startUpstream()
  onTestFinished(close)
  for (const { host, prefix } of ways(port)) {
    const { status, answer } = await ask(server, host, { path: `${prefix}/` })
    expect([status, await text(answer)]).toEqual([
      502,
      expect.stringContaining(
        `port ${port} expects TLS, but ports are forwarded as plain HTTP: serve it without TLS, or use it on your machine with: workspace connect demo ${port} --local ${port}`,
      ),
    ])
  }
})

test('a port that closes or resets the connection is reported without a term of Node.js', async () => {
  for (const end of ['destroy', 'resetAndDestroy'] as const) {
    const { port } = await startRawUpstream((socket) => socket[end]())
    const { status, answer } = await ask(server, `${port}--demo.localhost:${server.httpPort}`)
    expect([status, await text(answer)]).toEqual([
      502,
      expect.stringContaining('the port did not respond: the connection closed without a response'),
    ])
  }
})

test('an invalid response is reported at once: only one connection is opened', async () => {
  let count = 0
  const { port } = await startRawUpstream((socket) => {
    count += 1
    socket.end('HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\n')
  })
  for (const { host, prefix } of ways(port)) {
    const { status, answer } = await ask(server, host, { path: `${prefix}/` })
    expect([status, await text(answer)]).toEqual([502, expect.stringContaining('sent an invalid response')])
  }
  expect(count).toBe(2)
})

test('every method that Node parses reaches a port by host and by path', async () => {
  const { port } = await serveInside((asked, answer) => {
    answer.setHeader('x-method', String(asked.method))
    answer.end()
  })
  // CONNECT requests a tunnel, and SOURCE belongs to another protocol.
  const methods = METHODS.filter((method) => method !== 'CONNECT' && method !== 'SOURCE')
  expect(methods).toContain('QUERY')
  for (const { host, prefix } of ways(port))
    for (const method of methods) {
      const { status, headers, answer } = await ask(server, host, { method, path: `${prefix}/` })
      answer.resume()
      expect([status, headers['x-method']], method).toEqual([200, method])
    }
})

test('V5 H6 a port receives each request once, regardless of the Connection header', async () => {
  const seen: string[] = []
  const { port } = await serveInside((asked, answer) => {
    seen.push(`${asked.method} ${asked.url}`)
    answer.end()
  })
  const smuggled = 'GET /smuggled HTTP/1.1\r\nHost: evil\r\n\r\n'
  for (const { host, prefix } of ways(port))
    for (const option of ['content-length', 'host', 'transfer-encoding', 'cookie', 'via']) {
      seen.length = 0
      const head = `GET ${prefix}/a HTTP/1.1\r\nHost: ${host}\r\nConnection: ${option}, close\r\nContent-Length: ${smuggled.length}\r\n\r\n`
      const status = statusOf(await sendRaw(server.httpPort, head + smuggled))
      const isRefused = ['content-length', 'host', 'transfer-encoding'].includes(option)
      expect([status, seen], option).toEqual(isRefused ? [400, []] : [200, ['GET /a']])
    }
})

test('a port that switches protocols without a request or does not answer yields an error', async () => {
  const answers = ['HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: x\r\n\r\n', '']
  for (const bytes of answers) {
    const { port } = await startRawUpstream((socket) => socket.end(bytes))
    for (const { host, prefix } of ways(port)) {
      const { status, answer } = await ask(server, host, { path: `${prefix}/` })
      expect([status, JSON.parse(await text(answer)).error.code]).toEqual([502, 'CONNECT_FAILED'])
    }
  }
})
