import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest'
import { IdlePool } from '../../../../src/lib/pool/idle-pool.ts'
import { HOSTS, ORIGINS } from '../../../contract/hosts.ts'
import { builtProject } from '../../../support/analyzer/analyzer-cli.ts'
import { projectOf, startAnalyzer, type TestAnalyzer } from '../../../support/analyzer/analyzer-server.ts'
import { sendRaw, statusOf } from '../../../support/http/raw-http.ts'

let analyzer: TestAnalyzer
beforeAll(async () => {
  analyzer = await startAnalyzer(projectOf('demo'))
})
afterAll(() => analyzer.stop())

const send = (method: string, path: string, headers: Readonly<Record<string, string>> = {}) =>
  fetch(analyzer.url + path, { method, headers: { authorization: `Bearer ${analyzer.token}`, ...headers } })

test.each(HOSTS.filter(([host]) => !host.toLowerCase().includes('allowed.example')))(
  'H1 a question to host %j is answered %i',
  async (host, status) => {
    const token = `Authorization: Bearer ${analyzer.token}`
    const lines = ['GET /api/v1/stats HTTP/1.1', `Host: ${host}`, token, 'Connection: close', '', '']
    expect(statusOf(await sendRaw(analyzer.server.port, lines.join('\r\n')))).toBe(status)
  },
)

test.each(ORIGINS)('H2 a refresh with %j is allowed: %j', async (headers, isAllowed) => {
  const own = Object.fromEntries(
    Object.entries(headers).map(([name, value]) => [
      name,
      value.replace('HOST', `127.0.0.1:${analyzer.server.port}`),
    ]),
  )
  const { status } = await send('POST', '/api/v1/project/refresh', {
    ...own,
    authorization: `Bearer ${analyzer.token}`,
  })
  expect(status).toBe(isAllowed ? 200 : 403)
})

test('A8 with server.auth: none queries are open, and changes require the token', async () => {
  const open = await startAnalyzer(builtProject(), { ANALYZER_SERVER__AUTH: 'none' })
  onTestFinished(() => open.stop())
  const ask = (method: string, path: string, headers: Readonly<Record<string, string>> = {}) =>
    fetch(open.url + path, { method, headers })
  for (const path of ['/admin/health', '/admin/ready', '/admin/info', '/api/v1/project', '/api/v1/classes'])
    expect((await ask('GET', path)).status, path).toBe(200)
  expect((await ask('POST', '/admin/activity')).status).toBe(200)
  for (const path of ['/admin/shutdown', '/api/v1/project/refresh']) {
    for (const authorization of ['', 'Bearer wrong', `Basic ${open.token}`]) {
      const answer = await ask('POST', path, { authorization })
      expect(answer.status, path).toBe(401)
      expect(await answer.json()).toEqual({
        error: true,
        code: 401,
        type: 'Unauthorized',
        message: expect.any(String),
      })
    }
  }
  const refreshed = await ask('POST', '/api/v1/project/refresh', {
    authorization: `Bearer ${open.token}`,
  })
  expect(refreshed.status).toBe(200)
})

test('A8 every route requires the token of the state file', async () => {
  const { paths } = (await (await send('GET', '/openapi.json')).json()) as { paths: Record<string, object> }
  const described = Object.entries(paths).flatMap(([path, methods]) =>
    Object.keys(methods).map((method) => [method.toUpperCase(), path.replaceAll(/\{[^}]+\}/g, 'x')] as const),
  )
  expect(described.length).toBeGreaterThan(20)
  const beside = ['/metrics', '/openapi.json', '/reference'].map((path) => ['GET', path] as const)
  // Without the header, too: one that is sent is always checked.
  const wrong = [undefined, '', 'Bearer wrong', `Basic ${analyzer.token}`]
  for (const [method, path] of [...described, ...beside])
    for (const authorization of wrong) {
      const headers = authorization === undefined ? {} : { authorization }
      const { status } = await fetch(analyzer.url + path, { method, headers })
      expect([method, path, status]).toEqual([method, path, 401])
    }
  for (const path of ['/admin/health', '/admin/info', '/api/v1/project', '/api/v1/classes', '/metrics'])
    expect((await send('GET', path)).status, path).toBe(200)
})

test('the admin routes respond as documented', async () => {
  const json = async (path: string) => (await send('GET', path)).json()
  expect(await json('/admin/health')).toEqual({ status: 'UP', timestamp: expect.stringMatching(/Z$/) })
  expect(await json('/admin/ready')).toEqual({ ready: true, status: 'READY', project: expect.any(String) })
  const before = (await json('/admin/info')) as { lastActivityAt: string }
  const active = await send('POST', '/admin/activity', { authorization: `Bearer ${analyzer.token}` })
  expect(active.status).toBe(200)
  const after = (await json('/admin/info')) as { lastActivityAt: string }
  expect(after.lastActivityAt >= before.lastActivityAt).toBe(true)
})

test('the port is in the configured range, and a full range is an error', async () => {
  const { port } = analyzer.server
  const range = (start: number, end: number) => ({
    ANALYZER_SERVER__PORT_RANGE__START: String(start),
    ANALYZER_SERVER__PORT_RANGE__END: String(end),
  })
  await expect(startAnalyzer(builtProject(), range(port, port))).rejects.toMatchObject({
    code: 'NO_FREE_PORT',
  })
  await expect(startAnalyzer(builtProject(), range(port, port - 1))).rejects.toMatchObject({
    code: 'NO_FREE_PORT',
  })
  const second = await startAnalyzer(builtProject(), range(port - 3, port))
  onTestFinished(() => second.stop())
  expect(second.server.port).toBeGreaterThanOrEqual(port - 3)
  expect(second.server.port).toBeLessThan(port)
})

/** Its tasks have no end, so neither has a scan. */
class NeverPool extends IdlePool {
  override run = (): Promise<never> => new Promise(() => undefined)
}

test('queries before the first scan completes fail with ScanNotReady', async () => {
  const { create, loadAnalyzerConfig } = await import('../../../../src/analyzer/index.ts')
  const { createLogger } = await import('../../../../src/lib/log/logger.ts')
  const scanPool = new NeverPool({ name: 'never' }, 0)
  const deps = { logger: createLogger({ level: 'fatal', format: 'json' }), scanPool }
  const config = loadAnalyzerConfig({ ANALYZER_SERVER__AUTH: 'none' })
  const server = await create(config, { root: builtProject() }, deps).start()
  onTestFinished(() => server.stop())
  const url = `http://127.0.0.1:${server.port}`
  const answer = await fetch(`${url}/api/v1/classes`)
  expect(answer.status).toBe(503)
  expect(await answer.json()).toEqual({
    error: true,
    code: 503,
    type: 'ScanNotReady',
    message: expect.any(String),
  })
  const ready = await fetch(`${url}/admin/ready`)
  expect({ status: ready.status, body: await ready.json() }).toEqual({
    status: 503,
    body: { ready: false, status: 'SCANNING', project: 'shop' },
  })
})
