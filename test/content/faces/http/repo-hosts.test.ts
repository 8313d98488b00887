import { request } from 'node:http'
import { buffer } from 'node:stream/consumers'
import { expect, test } from 'vitest'
import { buildIndex } from '../../../../src/content/search/search-index.ts'
import { startContent, type TestContent } from '../../../support/content-server.ts'
import { RepoBrowser } from '../../../support/repo-browser.ts'
import { tempDir } from '../../../support/temp-dir.ts'

const FILES = {
  'repos/guide/index.html': 'guide',
  'repos/guide/deep/index.html': 'deep',
  'repos/guide/_static/a.css': 'a {}',
  'repos/bare/page.html': 'bare',
  'repos/hr/index.html': 'salaries',
  'repos/My_Guide/index.html': 'mine',
  [`repos/${'n'.repeat(70)}/index.html`]: 'long',
  'repos/versioned/_meta.json': JSON.stringify({ versions: ['2.0'], latest: '2.0' }),
}
const COMMON = 'docs.example:99'

interface Given {
  readonly dir?: string
  readonly isSecure?: boolean
  readonly clock?: { readonly nowMs: () => number; readonly wallMs: () => number }
  readonly http?: object
}

async function start({
  dir = tempDir(),
  isSecure = false,
  clock,
  http = {},
}: Given = {}): Promise<TestContent> {
  return startContent(FILES, {
    dir,
    ...(clock && { clock }),
    settings: {
      http: { port: 0, repo_domain: 'docs.example', ...http },
      session: { file: `${dir}/sessions.db`, secure: isSecure },
    },
  })
}

/** A browser whose user has logged in on the common host. */
async function loggedIn({ url }: TestContent): Promise<RepoBrowser> {
  const browser = new RepoBrowser(url)
  const { status } = await browser.ask(
    `//${COMMON}/_login`,
    'POST',
    new URLSearchParams({ password: 'right' }),
  )
  expect(status).toBe(303)
  return browser
}

test('O6 with a domain each repository has a host of its own, which one login enters', async () => {
  const browser = await loggedIn(await start())
  const main = await browser.ask(`//${COMMON}/repos/guide/deep/?q`)
  expect([main.status, main.headers['location']]).toEqual([302, '//guide.docs.example:99/deep/'])
  expect(await browser.go('//guide.docs.example:99/deep/?q=1')).toMatchObject({
    status: 200,
    body: 'deep',
    at: '//guide.docs.example:99/deep/?q=1',
  })
  expect((await browser.ask('//guide.docs.example:99/_static/a.css')).body).toBe('a {}')
  expect((await browser.ask('//guide.docs.example:99/deep')).headers['location']).toBe('/deep/')
  expect((await browser.go('//bare.docs.example:99/deep/')).status).toBe(404)
  expect((await browser.go('//versioned.docs.example:99/')).at).toBe('//versioned.docs.example:99/2.0/')
  expect((await browser.go(`//${COMMON}/repos/My_Guide/`)).body).toBe('mine')
  expect((await browser.go(`//${COMMON}/repos/${'n'.repeat(70)}/`)).body).toContain('too long for a host')
  expect((await browser.ask('//evil.example/')).status).toBe(403)
  for (const host of ['docs.example', 'guide.docs.example'])
    expect(browser.cookiesFor(host).filter((each) => each.startsWith('_session='))).toHaveLength(1)
})

test('O6 somebody who is not logged in comes to the login by a link to a repository, and back to the page', async () => {
  const { url } = await start()
  const browser = new RepoBrowser(url)
  const login = await browser.go('//guide.docs.example:99/deep/?q=a%26b')
  expect([login.status, login.at.split('?')[0]]).toEqual([200, `//${COMMON}/_login`])
  const next = new URL(login.at, 'http://x').searchParams.get('next') ?? ''
  const form = new URLSearchParams({ password: 'right', next })
  const answer = await browser.ask(`//${COMMON}/_login`, 'POST', form)
  const there = await browser.go(`//${COMMON}${String(answer.headers['location'])}`)
  expect(there).toMatchObject({ status: 200, body: 'deep', at: '//guide.docs.example:99/deep/?q=a%26b' })
})

/** Every route with its methods: those that are described, and those that are not. */
async function routesOf(browser: RepoBrowser): Promise<readonly (readonly [string, string])[]> {
  const { body } = await browser.ask(`//${COMMON}/openapi.json`)
  const { paths } = JSON.parse(body) as { paths: Record<string, object> }
  const described = Object.entries(paths).flatMap(([path, methods]) =>
    Object.keys(methods).map((method) => [method.toUpperCase(), path] as const),
  )
  expect(described.length).toBeGreaterThan(8)
  const hidden = ['/openapi.json', '/metrics', '/reference', '/reference/', '/reference/static/index.css']
  return [...described, ...hidden.map((path) => ['GET', path] as const)]
}

const ON_REPO_HOSTS = new Set(['GET /_enter', 'GET /_api/search'])

test('O6 no route of the site is there on a host of a repository, whoever asks', async () => {
  const content = await start()
  const browser = await loggedIn(content)
  await browser.go('//guide.docs.example:99/')
  const routes = await routesOf(browser)
  const hosts = ['guide', 'GUIDE', 'missing', 'a.guide', 'x--zz', 'x--6775696465', '-', 'xn--nxasmq6b']
  for (const who of [browser, new RepoBrowser(content.url)])
    for (const host of hosts)
      for (const [method, path] of routes)
        for (const spelled of [path, `${path}?x=1`]) {
          if (ON_REPO_HOSTS.has(`${method} ${path}`)) continue
          const { status } = await who.ask(`//${host}.docs.example:99${spelled}`, method)
          expect([host, method, spelled, status]).toEqual([host, method, spelled, 404])
        }
  // The common host still has them.
  expect((await browser.ask(`//${COMMON}/_api/repos`)).status).toBe(200)
  expect((await browser.ask(`//${COMMON}/metrics`)).status).toBe(200)
})

test("O6 a repository's host searches that repository alone", async () => {
  const index = buildIndex([{ path: 'index.html', title: 'Salaries', text: 'the salary of Alice' }])
  const { url } = await startContent(
    { ...FILES, 'repos/guide/_search.json': index, 'repos/hr/_search.json': index },
    {
      settings: {
        http: { port: 0, repo_domain: 'docs.example' },
      },
    },
  )
  const browser = new RepoBrowser(url)
  await browser.ask(`//${COMMON}/_login`, 'POST', new URLSearchParams({ password: 'right' }))
  const hits = async (at: string): Promise<readonly string[]> => {
    const { hits: found } = JSON.parse((await browser.ask(at)).body) as { hits: { url: string }[] }
    return found.map((hit) => hit.url).toSorted()
  }
  expect(await hits(`//${COMMON}/_api/search?q=salary`)).toEqual(['/repos/guide/', '/repos/hr/'])
  await browser.go('//guide.docs.example:99/')
  expect(await hits('//guide.docs.example:99/_api/search?q=salary')).toEqual(['/'])
  expect((await browser.ask('//guide.docs.example:99/_api/search?q=salary&repo=hr')).status).toBe(400)
})

test.each(['no-cors', 'cors', 'websocket', 'same-origin', undefined])(
  'O6 a page of another repository or site loads nothing of a repository in mode %s',
  async (mode) => {
    const browser = await loggedIn(await start())
    await browser.go('//hr.docs.example:99/')
    for (const site of ['same-site', 'cross-site']) {
      browser.headers = { 'sec-fetch-site': site, ...(mode !== undefined && { 'sec-fetch-mode': mode }) }
      const { status, headers } = await browser.ask('//hr.docs.example:99/')
      expect([status, headers['cross-origin-resource-policy']]).toEqual([403, 'same-origin'])
      expect((await browser.ask(`//${COMMON}/_hand-over?repo=hr&state=${'s'.repeat(43)}`)).status).toBe(
        mode === undefined ? 302 : 403,
      )
    }
    browser.headers = { 'sec-fetch-site': 'same-site', 'sec-fetch-mode': 'navigate' }
    expect((await browser.ask('//hr.docs.example:99/')).status).toBe(200)
  },
)

/** The address with a ticket that the common host sends a browser to. */
async function ticketFor(browser: RepoBrowser, repo = 'guide'): Promise<URL> {
  const away = await browser.ask(`//${repo}.docs.example:99/`)
  const back = await browser.ask(String(away.headers['location']))
  expect(back.status).toBe(302)
  return new URL(String(back.headers['location']), 'http://x')
}

const addressOf = (url: URL): string => `//${url.host}${url.pathname}${url.search}`

test('O6 a ticket enters once', async () => {
  const content = await start()
  const browser = await loggedIn(content)
  const ticket = addressOf(await ticketFor(browser))
  const [one, two] = await Promise.all([browser.ask(ticket), browser.ask(ticket)])
  expect([one.status, two.status].toSorted((a, b) => a - b)).toEqual([303, 403])
  // Back in the history: the browser is in already.
  expect((await browser.ask(ticket)).status).toBe(303)
})

test.each([
  ['of another browser', 0, (other: RepoBrowser, url: URL) => other.ask(addressOf(url))],
  [
    'for another host',
    0,
    async (_other: RepoBrowser, url: URL, own: RepoBrowser) => {
      await own.ask('//hr.docs.example:99/')
      return own.ask(addressOf(url).replace('guide', 'hr'))
    },
  ],
  [
    'for the common host',
    0,
    (_other: RepoBrowser, url: URL, own: RepoBrowser) => own.ask(addressOf(url).replace('guide.', '')),
  ],
  ['that has expired', 30_001, (_other: RepoBrowser, url: URL, own: RepoBrowser) => own.ask(addressOf(url))],
  [
    'of a session that has ended',
    0,
    async (_other: RepoBrowser, url: URL, own: RepoBrowser) => {
      await own.ask(`//${COMMON}/_logout`, 'POST')
      return own.ask(addressOf(url))
    },
  ],
  [
    'that is made up',
    0,
    (_other: RepoBrowser, url: URL, own: RepoBrowser) => {
      url.searchParams.set('ticket', 'A'.repeat(43))
      return own.ask(addressOf(url))
    },
  ],
  [
    'that is no ticket at all',
    0,
    (_other: RepoBrowser, url: URL, own: RepoBrowser) => {
      url.searchParams.append('ticket', '../..')
      return own.ask(addressOf(url))
    },
  ],
])('O6 no host is entered with a ticket %s', async (_what, laterMs, use) => {
  let nowMs = 1_000_000
  const clock = { nowMs: () => nowMs, wallMs: () => nowMs }
  const content = await start({ clock })
  const browser = await loggedIn(content)
  const other = new RepoBrowser(content.url)
  await other.ask('//guide.docs.example:99/')
  const url = await ticketFor(browser)
  nowMs += laterMs
  const { status, headers } = await use(other, url, browser)
  expect([403, 404]).toContain(status)
  expect(JSON.stringify(headers['set-cookie'] ?? [])).not.toContain('_session=')
})

test.each([
  '//evil.example/',
  'https://evil.example/',
  '/\\\\evil.example',
  '/..//evil.example',
  'javascript:alert(1)',
  '/_logout',
])('O1 a hand-over leads nowhere else, whatever next is: %s', async (next) => {
  const browser = await loggedIn(await start())
  await browser.ask('//guide.docs.example:99/')
  const away = new URL(
    String((await browser.ask('//guide.docs.example:99/')).headers['location']),
    'http://x',
  )
  expect(away.host).toBe(COMMON)
  away.searchParams.set('next', next)
  const back = new URL(String((await browser.ask(addressOf(away))).headers['location']), 'http://x')
  expect(back.host).toBe('guide.docs.example:99')
  back.searchParams.set('next', next)
  expect((await browser.ask(addressOf(back))).headers['location']).toMatch(/^\/(?:evil\.example)?$/)
  for (const repo of ['evil.example', 'a/b', '..', '', 'guide:1', 'guide@evil.example']) {
    away.searchParams.set('repo', repo)
    const { headers } = await browser.ask(addressOf(away))
    expect(new URL(String(headers['location'] ?? '//x.docs.example'), 'http://x').hostname).toMatch(
      /\.docs\.example$/,
    )
  }
})

test('O7 several servers share hand-overs, and a logout on one ends the sessions of all hosts on all', async () => {
  let nowMs = 1_000_000
  const clock = { nowMs: () => nowMs, wallMs: () => nowMs }
  const dir = tempDir()
  const [one, two] = [await start({ dir, clock }), await start({ dir, clock })]
  const browser = await loggedIn(one)
  const ticket = addressOf(await ticketFor(browser))
  browser.moveTo(two.url)
  expect((await browser.ask(ticket)).status).toBe(303)
  expect((await browser.ask('//guide.docs.example:99/')).body).toBe('guide')
  browser.moveTo(one.url)
  expect((await browser.ask('//guide.docs.example:99/')).body).toBe('guide')
  expect((await browser.ask(`//${COMMON}/_logout`, 'POST')).status).toBe(303)
  expect((await browser.ask('//guide.docs.example:99/')).status).toBe(302)
  browser.moveTo(two.url)
  nowMs += 1_000
  expect((await browser.ask('//guide.docs.example:99/')).status).toBe(302)
})

test('O6 a session counts on its own host alone', async () => {
  const content = await start()
  const browser = await loggedIn(content)
  await browser.go('//guide.docs.example:99/')
  const [common = ''] = browser.cookiesFor('docs.example').filter((each) => each.startsWith('_session='))
  const [guide = ''] = browser.cookiesFor('guide.docs.example').filter((each) => each.startsWith('_session='))
  for (const [host, cookie, status] of [
    ['docs.example', common, 200],
    ['docs.example', guide, 302],
    ['guide.docs.example', guide, 200],
    ['guide.docs.example', common, 302],
    ['hr.docs.example', guide, 302],
    ['hr.docs.example', common, 302],
  ] as const) {
    const thief = new RepoBrowser(content.url)
    thief.toss(host, cookie)
    expect([host, (await thief.ask(`//${host}/`)).status]).toEqual([host, status])
  }
})

test('O6 with https no page sets a cookie over the session of another host', async () => {
  const content = await start({ isSecure: true })
  const attacker = await loggedIn(content)
  const browser = await loggedIn(content)
  await browser.go('//hr.docs.example:99/')
  const before = ['docs.example', 'hr.docs.example'].map((host) => browser.cookiesFor(host))
  expect(before.flat().every((each) => each.startsWith('__Host-'))).toBe(true)
  for (const cookie of attacker.cookiesFor('docs.example'))
    for (const more of ['Domain=docs.example', 'Domain=docs.example; Secure; Path=/', 'Path=/_login; Secure'])
      browser.toss('guide.docs.example', `${cookie}; ${more}`)
  expect(['docs.example', 'hr.docs.example'].map((host) => browser.cookiesFor(host))).toEqual(before)
  browser.toss('guide.docs.example', '_session=mine; Domain=docs.example')
  browser.toss('guide.docs.example', '_login_flow=mine; Domain=docs.example; Path=/_login/oidc')
  expect((await browser.ask('//hr.docs.example:99/')).status).toBe(200)
})

test.each(['/', '/deep/'])(
  'O6 without https a cookie set over a session lets nobody in as another: path %s',
  async (at) => {
    const content = await start()
    const attacker = await loggedIn(content)
    const browser = await loggedIn(content)
    await browser.go('//guide.docs.example:99/deep/')
    const [cookie = ''] = attacker.cookiesFor('docs.example')
    browser.toss('hr.docs.example', `${cookie}; Domain=docs.example; Path=${at}`)
    const refused = await browser.ask('//guide.docs.example:99/deep/')
    expect([refused.status, refused.headers['clear-site-data']]).toEqual([400, '"cookies"'])
    if (at === '/') expect((await browser.go('//guide.docs.example:99/deep/')).body).toBe('deep')
  },
)

/** fetch names its host itself. */
async function askHost({ url, cookie }: TestContent, host: string, path: string) {
  const response = await new Promise<import('node:http').IncomingMessage>((resolve, reject) =>
    request(url + path, { headers: { cookie, host } }, resolve)
      .on('error', reject)
      .end(),
  )
  return { status: response.statusCode, headers: response.headers, body: await buffer(response) }
}

test('H1 no route answers to a host that is not ours', async () => {
  const content = await startContent(FILES)
  for (const host of [
    'evil.com',
    'evil.com:8090',
    '127.0.0.1.evil.com',
    'docs.example',
    'localhost.evil.com',
  ])
    for (const path of ['/', '/_login', '/_health', '/_api/repos', '/repos/bare/page.html', '/_page.css'])
      expect([host, path, (await askHost(content, host, path)).status]).toEqual([host, path, 403])
  for (const host of ['127.0.0.1', 'localhost:1', '[::1]', 'x.localhost'])
    expect((await askHost(content, host, '/repos/bare/page.html')).status).toBe(200)
})
