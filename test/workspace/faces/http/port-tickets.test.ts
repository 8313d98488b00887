import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { FakeBackend } from '../../../support/workspace/backend/fake-backend.ts'
import { ask, serveInside } from '../../../support/workspace/client/port-client.ts'
import { suiteDir } from '../../../support/temp-dir.ts'
import { startWorkspaceServer, type TestServer } from '../../../support/workspace/server/test-server.ts'

let server: TestServer
const below = (port: number, path = '/') => `/api/workspaces/demo/proxy/${port}${path}`
const hostOf = (port: number, workspace = 'demo') => `${port}--${workspace}.localhost:${server.httpPort}`

describe('with a token, a port', () => {
  const folder = suiteDir()
  const tokenFile = () => join(folder.path, 'token')
  const authorization = 'Bearer canary-token'
  const issueAny = (body: object, workspace = 'demo') =>
    server.api(`workspaces/${workspace}/passes`, 'POST', body, { authorization })
  const issue = async (port: number, workspace = 'demo') =>
    (await issueAny({ for: 'port', port }, workspace)).body as { pass: string; url: string }
  const backend = new FakeBackend()
  beforeAll(async () => {
    writeFileSync(tokenFile(), 'canary-token')
    server = await startWorkspaceServer({
      backends: () => [backend],
      settings: { http: { token_file: tokenFile() } },
    })
    for (const name of ['demo', 'other']) await server.create({ name }, { authorization })
  })
  afterAll(() => server.stop())

  test('a link admits everyone who has it to its port, and its cookie ends with it', async () => {
    const { port } = await serveInside((_asked, answer) => answer.end('shown'))
    const { status, body } = await issueAny({ for: 'port', port, valid_s: 60 })
    expect(status).toBe(201)
    const leftMs = Date.parse(body.expires_at) - Date.now()
    expect(leftMs).toBeGreaterThan(30_000)
    expect(leftMs).toBeLessThanOrEqual(60_000)
    const { search } = new URL(body.url)
    for (let visitor = 0; visitor < 3; visitor++) {
      const entered = await ask(server, hostOf(port), { path: `/${search}` })
      expect(entered.status).toBe(302)
      const [cookie = ''] = entered.headers['set-cookie'] ?? []
      expect(Number(/Max-Age=(\d+)/.exec(cookie)?.[1])).toBeLessThanOrEqual(60)
      const headers = { cookie: cookie.split(';')[0] ?? '' }
      expect(await text((await ask(server, hostOf(port), { headers })).answer)).toBe('shown')
    }
    for (const elsewhere of [hostOf(port + 1), hostOf(port, 'other')])
      expect((await ask(server, elsewhere, { path: `/${search}` })).status).toBe(401)
  })

  test('a link and its cookie are valid for the next server, until it has another token', async () => {
    const { port } = await serveInside((_asked, answer) => answer.end('shown'))
    const { search } = new URL((await issueAny({ for: 'port', port, valid_s: 60 })).body.url)
    const enter = () => ask(server, hostOf(port), { path: `/${search}` })
    const [cookie = ''] = (await enter()).headers['set-cookie'] ?? []
    const show = () => ask(server, hostOf(port), { headers: { cookie: cookie.split(';')[0] ?? '' } })
    server = await server.restart()
    expect((await enter()).status).toBe(302)
    expect((await show()).status).toBe(200)
    writeFileSync(tokenFile(), 'canary-token-2')
    server = await server.restart()
    expect((await enter()).status).toBe(401)
    expect((await show()).status).toBe(401)
    writeFileSync(tokenFile(), 'canary-token')
    server = await server.restart()
  })

  test('a link does not admit to a terminal, and ends with its workspace', async () => {
    const { port } = await serveInside((_asked, answer) => answer.end('shown'))
    const made = () => server.create({ name: 'brief' }, { authorization })
    await made()
    const { body } = await issueAny({ for: 'port', port, valid_s: 3_600 }, 'brief')
    const terminal = await fetch(`${server.url}/api/workspaces/brief/terminal?pass=${body.pass}`)
    expect(terminal.ok).toBe(false)
    const { search } = new URL(body.url)
    expect((await ask(server, hostOf(port, 'brief'), { path: `/${search}` })).status).toBe(302)
    await server.api('workspaces/brief', 'DELETE', undefined, { authorization })
    await made()
    expect((await ask(server, hostOf(port, 'brief'), { path: `/${search}` })).status).toBe(401)
  })

  test.each([0, 7 * 24 * 3_600 + 1, 1.5, '60'])('a link cannot be valid for %j s', async (seconds) => {
    expect(await issueAny({ for: 'port', port: 3_000, valid_s: seconds })).toMatchObject({
      status: 400,
      body: { error: { message: expect.stringContaining('valid_s') } },
    })
  })

  test('a ticket admits to its port’s host once and sets a cookie', async () => {
    const { port } = await serveInside((asked, answer) => answer.end(`${asked.url} ${asked.headers.cookie}`))
    expect((await ask(server, hostOf(port))).status).toBe(401)
    const url = new URL((await issue(port)).url)
    expect(url.host).toBe(hostOf(port))
    const entrance = { path: `/deep?a=b&${url.search.slice(1)}` }
    const entered = await ask(server, hostOf(port), entrance)
    expect(entered.status).toBe(302)
    expect(entered.headers.location).toBe('/deep?a=b')
    const [cookie = ''] = entered.headers['set-cookie'] ?? []
    expect(cookie).toMatch(/; HttpOnly; SameSite=Lax$/)
    const headers = { cookie: cookie.split(';')[0] ?? '' }
    expect(await text((await ask(server, hostOf(port), { headers })).answer)).toBe('/ undefined')
    const tossed = { cookie: `workspace-port=tossed; ${headers.cookie}` }
    expect((await ask(server, hostOf(port), { headers: tossed })).status).toBe(200)
    expect((await ask(server, hostOf(port), entrance)).status).toBe(401)
    for (const elsewhere of [hostOf(port + 1), hostOf(port, 'other')])
      expect((await ask(server, elsewhere, { headers })).status).toBe(401)
  })

  test('a ticket does not redirect to another host', async () => {
    const { pass } = await issue(3000)
    const { headers } = await ask(server, hostOf(3000), { path: `//evil.example/?workspace-pass=${pass}` })
    expect(headers.location).toBe('/evil.example/')
  })

  test('below a path, the token or a ticket is required, and neither is sent to the workspace', async () => {
    const { port } = await serveInside((asked, answer) =>
      answer.end(`${asked.url} ${asked.headers.authorization}`),
    )
    const host = `127.0.0.1:${server.httpPort}`
    expect((await ask(server, host, { path: below(port) })).status).toBe(401)
    const { pass } = await issue(port)
    const entrance = { path: below(port, `/?workspace-pass=${pass}&x=1`) }
    expect(await text((await ask(server, host, entrance)).answer)).toBe('/?x=1 undefined')
    expect((await ask(server, host, entrance)).status).toBe(401)
    const byToken = await ask(server, host, { path: below(port), headers: { authorization } })
    expect(await text(byToken.answer)).toBe('/ undefined')
    const byOther = await issue(port, 'other')
    expect((await ask(server, host, { path: below(port, `/?workspace-pass=${byOther.pass}`) })).status).toBe(
      401,
    )
  })
})
