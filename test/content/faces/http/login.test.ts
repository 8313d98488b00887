import { expect, test } from 'vitest'
import { cheapHash } from '../../../support/content/cheap-hash.ts'
import { cookieOf, startContent } from '../../../support/content/content-server.ts'

const users = ['ada', 'bob'].map((name) => ({ name, password_hash: cheapHash(`pw-${name}`) }))
const FILES = { 'repos/a/index.html': 'secret page' }

test('every route that needs a login redirects to the login page with the requested path', async () => {
  const { askAnonymous } = await startContent(FILES)
  for (const path of [
    '/',
    '/repos/a/',
    '/_api/repos',
    '/_api/search?q=x',
    '/metrics',
    '/openapi.json',
    '/reference',
    '/nowhere',
  ]) {
    const { status, headers } = await askAnonymous(path)
    const location = new URL(headers.get('location') ?? '', 'http://x')
    expect([path, status, location.pathname, location.searchParams.get('next')]).toEqual([
      path,
      302,
      '/_login',
      path,
    ])
    expect(headers.get('cache-control')).toBe('no-store')
  }
  const purge = await askAnonymous('/_admin/cache/purge', { method: 'POST' })
  expect([purge.status, purge.headers.get('location')]).toEqual([303, '/_login?next=/_admin/cache/purge'])
  expect(await (await askAnonymous('/_health')).json()).toEqual({ status: 'ok' })
})

test('a login sets the cookie according to the specification', async () => {
  const plain = await startContent(FILES)
  expect((await plain.logIn()).headers.get('set-cookie')).toMatch(
    /^_session=[\w-]{43}; Path=\/; Max-Age=7776000; HttpOnly; SameSite=Lax$/,
  )
  const secure = await startContent(FILES, {
    settings: { session: { max_age: '1h', secure: true, file: `${plain.dir}/other.db` } },
  })
  const answer = await secure.logIn({ password: 'right', next: '/repos/a/' })
  expect([answer.status, answer.headers.get('location'), answer.headers.get('cache-control')]).toEqual([
    303,
    '/repos/a/',
    'no-store',
  ])
  expect(answer.headers.get('set-cookie')).toMatch(/; Max-Age=3600; HttpOnly; Secure; SameSite=Lax$/)
})

test('a wrong login responds with 401 and the page, which keeps the name and next', async () => {
  const { logIn } = await startContent(FILES, { settings: { users } })
  for (const [username, password] of [
    ['ada', 'pw-bob'],
    ['nobody', 'pw-ada'],
    ['', ''],
    ['"><script>', 'x'],
  ] as const) {
    const answer = await logIn({ username, password, next: '/repos/a/' }, { 'x-forwarded-for': '10.0.0.1' })
    const page = await answer.text()
    expect([answer.status, answer.headers.get('set-cookie')]).toEqual([401, null])
    expect(page).toContain('value="/repos/a/"')
    expect(page).not.toContain('<script>')
  }
})

test('O2 five attempts per minute are allowed, even with the right password, and others are not affected', async () => {
  let wallMs = 1_000_000
  const clock = { nowMs: () => 0, wallMs: () => wallMs }
  const settings = { users, http: { port: 0, trusted_proxies: ['127.0.0.1'] } }
  const { logIn } = await startContent(FILES, { clock, settings })
  const from = (address: string, password: string) =>
    logIn({ username: 'ada', password }, { 'x-forwarded-for': address })
  for (let i = 0; i < 5; i++) expect((await from('10.0.0.1', `wrong${i}`)).status).toBe(401)
  const late = await from('10.0.0.1', 'pw-ada')
  expect([late.status, late.headers.get('retry-after')]).toEqual([429, '60'])
  expect((await from('10.0.0.2', 'pw-ada')).status).toBe(303)
  // One IPv6 network counts as one reader.
  for (let i = 0; i < 5; i++) expect((await from(`2001:db8::${i}`, 'wrong')).status).toBe(401)
  expect((await from('2001:db8::ffff:1', 'pw-ada')).status).toBe(429)
  wallMs += 60_000
  expect((await from('10.0.0.1', 'pw-ada')).status).toBe(303)
})

test('O2 a cookie sent before the login never becomes a session', async () => {
  const { logIn, askAnonymous } = await startContent(FILES)
  const chosen = `_session=${'A'.repeat(43)}`
  const fresh = cookieOf(await logIn({ password: 'right' }, { cookie: chosen }))
  expect(fresh).not.toBe(chosen)
  expect((await askAnonymous('/repos/a/', { headers: { cookie: chosen } })).status).toBe(302)
  const next = cookieOf(await logIn({ password: 'right' }, { cookie: fresh }))
  expect((await askAnonymous('/repos/a/', { headers: { cookie: fresh } })).status).toBe(302)
  expect((await askAnonymous('/repos/a/', { headers: { cookie: next } })).status).toBe(200)
})

test('O2 an invalid session cookie is refused', async () => {
  const { askAnonymous } = await startContent(FILES)
  const a43 = 'A'.repeat(43)
  const cookies = [
    '_session=',
    '_session=x',
    `_session=${a43}`,
    `_session="${a43}"`,
    `session=${a43}`,
    ';;=;',
    `_session=${'x'.repeat(8_000)}`,
  ]
  for (const cookie of cookies)
    expect([cookie, (await askAnonymous('/repos/a/', { headers: { cookie } })).status]).toEqual([cookie, 302])
})

test('O2 a cookie of another host is refused', async () => {
  const [one, other] = [await startContent(FILES), await startContent(FILES)]
  expect((await other.askAnonymous('/repos/a/', { headers: { cookie: one.cookie } })).status).toBe(302)
})

test('O7 a session survives a restart, and ends with its age', async () => {
  let wallMs = 1_000_000
  const clock = { nowMs: () => wallMs, wallMs: () => wallMs }
  const first = await startContent(FILES, { clock })
  const second = await startContent(FILES, { clock, dir: first.dir })
  const headers = { cookie: first.cookie }
  expect((await second.askAnonymous('/repos/a/', { headers })).status).toBe(200)
  wallMs += 90 * 86_400_000
  expect((await second.askAnonymous('/repos/a/', { headers })).status).toBe(302)
})

test('O7 a logout ends the session on every server that shares it', async () => {
  let nowMs = 0
  const clock = { nowMs: () => nowMs, wallMs: Date.now }
  const one = await startContent(FILES, { clock })
  const other = await startContent(FILES, { clock, dir: one.dir })
  const headers = { cookie: one.cookie }
  expect((await other.askAnonymous('/repos/a/', { headers })).status).toBe(200)
  const answer = await one.ask('/_logout', { method: 'POST' })
  expect([answer.status, answer.headers.get('location')]).toEqual([303, '/_login'])
  expect(answer.headers.get('set-cookie')).toMatch(/^_session=; Path=\/; Max-Age=0/)
  expect((await one.askAnonymous('/repos/a/', { headers })).status).toBe(302)
  nowMs += 1_000
  expect((await other.askAnonymous('/repos/a/', { headers })).status).toBe(302)
})

test('O7 a new password ends the sessions of the old one, but no others', async () => {
  const first = await startContent(FILES, { settings: { users } })
  const cookies = await Promise.all(
    users.map(async ({ name }) => cookieOf(await first.logIn({ username: name, password: `pw-${name}` }))),
  )
  const changed = [{ name: 'ada', password_hash: cheapHash('new') }, users[1]]
  const second = await startContent(FILES, { dir: first.dir, settings: { users: changed } })
  const statuses = await Promise.all(
    cookies.map(async (cookie) => (await second.askAnonymous('/repos/a/', { headers: { cookie } })).status),
  )
  expect(statuses).toEqual([302, 200])
})

test('logins, failures, logouts and purges are audited, and no secret is in the log', async () => {
  const { logIn, log, ask } = await startContent(FILES, { settings: { log: { level: 'error' } } })
  await logIn({ password: 'canary-password' })
  await ask('/_admin/cache/purge', { method: 'POST' })
  await ask('/_logout', { method: 'POST' })
  const events = log().filter(({ audit }) => audit === true)
  expect(events.map(({ event }) => event)).toEqual(['login', 'login_failed', 'purge', 'logout'])
  expect(events.every(({ address }) => address === '127.0.0.1')).toBe(true)
  expect(JSON.stringify(log())).not.toContain('canary')
})

test('O6 a browser cannot purge, and the home page offers no purge', async () => {
  const { ask, url } = await startContent(FILES)
  for (const headers of [{ origin: url }, { 'sec-fetch-site': 'same-origin' }])
    expect((await ask('/_admin/cache/purge', { method: 'POST', headers })).status).toBe(403)
  expect(await (await ask('/')).text()).not.toMatch(/purge/i)
})

test('H2 a page of another site cannot post a login, logout or purge', async () => {
  const { ask } = await startContent(FILES)
  const foreign = [
    { 'sec-fetch-site': 'cross-site', origin: 'https://evil.com' },
    { 'sec-fetch-site': 'same-site' },
    { origin: 'https://evil.com' },
    { origin: 'null' },
  ] as Record<string, string>[]
  for (const headers of foreign)
    for (const path of ['/_login', '/_logout', '/_admin/cache/purge']) {
      const body = new URLSearchParams({ password: 'right' })
      expect([path, (await ask(path, { method: 'POST', body, headers })).status]).toEqual([path, 403])
    }
  expect((await ask('/repos/a/')).status).toBe(200)
})

test('a reader named by a trusted proxy is logged in; one who sends the header directly is not', async () => {
  const settings = {
    header_auth: { header: 'X-Forwarded-User' },
    http: { port: 0, trusted_proxies: ['127.0.0.0/8'] },
  }
  const headers = { 'x-forwarded-user': 'ada' }
  const trusted = await startContent(FILES, { settings })
  expect((await trusted.askAnonymous('/repos/a/', { headers })).status).toBe(200)
  expect((await trusted.askAnonymous('/repos/a/')).status).toBe(302)
  const other = await startContent(FILES, {
    settings: { ...settings, http: { port: 0, trusted_proxies: ['10.0.0.0/8'] } },
  })
  expect((await other.askAnonymous('/repos/a/', { headers })).status).toBe(302)
})
