import { expect, test } from 'vitest'
import {
  ACCESS,
  HIDDEN,
  MISSING,
  renamed,
  seen,
  spellingsOf,
  startAccessSite,
  masked,
} from '../../../support/content/access-site.ts'
import { cheapHash } from '../../../support/content/cheap-hash.ts'
import { cookieOf, startContent } from '../../../support/content/content-server.ts'
import { FaultyStore } from '../../../support/content/faulty-store.ts'
import { RepoBrowser } from '../../../support/content/repo-browser.ts'
import { routesIn } from '../../../support/content/routes.ts'

/** Paths with a repository's name. */
function pathsOf(repo: string): readonly string[] {
  const inside = [
    '',
    '/',
    '/2.0',
    '/2.0/',
    '/2.0/index.html',
    '/3.0/',
    '/latest/',
    '/latest',
    '/stable/',
    '/a%20b.html',
    '/nowhere',
    '/404.html',
  ]
  const special = [
    '/llms.txt',
    '/2.0/llms.txt',
    '/2.0/index.html.md',
    '/robots.txt',
    '/favicon.ico',
    '/_meta.json',
    '/_files.json',
    '/2.0/_search.json',
    '/_objects/x',
    '/index.html?x=1',
  ]
  return [
    ...[...inside, ...special].flatMap((path) => [`/repos/${repo}${path}`, `/${repo}${path}`]),
    ...spellingsOf(repo).map((spelling) => `/repos/${spelling}/2.0/`),
    `/repos//${repo}/2.0/`,
    `/_api/page?path=/repos/${repo}/2.0/`,
    `/_api/page?path=/${repo}/`,
    `/_api/pages?repo=${repo}&version=2.0`,
    `/_api/pages?repo=${repo}&version=stable`,
    `/?q=salary&repo=${repo}`,
    `/?q=salary&repo=${repo}&version=1.0&offset=20`,
  ]
}

/** Returns every route with a repository's name wherever a client can put it. */
function requestsOf(description: string, repo: string): readonly (readonly [string, string])[] {
  const query = new URLSearchParams({
    repo,
    q: 'salary',
    version: '1.0',
    next: `/repos/${repo}/`,
    state: 's',
  })
  const routes = routesIn(description).filter(
    ([method, path]) => method === 'GET' || !path.startsWith('/_log'),
  )
  return [
    ...routes.map(([method, path]) => [method, `${path}?${query.toString()}`] as const),
    ...pathsOf(repo).flatMap((path) => ['GET', 'HEAD'].map((method) => [method, path] as const)),
    ['POST', `/repos/${repo}/2.0/`],
    ['OPTIONS', `/repos/${repo}/2.0/`],
    ['PUT', `/repos/${repo}/2.0/`],
  ]
}

/** Its counters differ each time. */
const isCounting = (path: string): boolean => path.startsWith('/metrics')

test.each(['readers', 'nobody'] as const)(
  'O8 on every route a repository that may not be read is like a missing one (default: %s)',
  async (without) => {
    const site = await startAccessSite(ACCESS[without])
    const description = await (await site.as('ann', '/openapi.json')).text()
    // Its pages are in memory, and the search index has them.
    for (const path of [`/repos/${HIDDEN}/2.0/`, `/_api/search?q=salary`]) {
      const { status } = await site.as('ann', path)
      expect([path, status]).toEqual([path, 200])
    }
    const missing = requestsOf(description, MISSING)
    for (const who of ['bob', 'visitor'] as const)
      for (const [at, [method, path]] of requestsOf(description, HIDDEN).entries()) {
        const other = missing[at]?.[1] ?? ''
        // Twice: the second time from memory.
        for (let i = 0; i < (method === 'GET' ? 2 : 1); i++) {
          const [one, two] = [path, other].map(async (each) => {
            const answer = await seen(await site.as(who, each, { method }))
            return isCounting(each) ? {} : answer
          })
          expect([who, method, path, renamed(await one)]).toEqual([who, method, path, await two])
        }
      }
    expect(await (await site.as('bob', '/metrics')).text()).not.toMatch(/hrhr|hr-plain/)
  },
)

const HEADERS: readonly Record<string, string>[] = [
  { 'if-none-match': '*' },
  { 'if-modified-since': 'Fri, 31 Dec 2100 00:00:00 GMT' },
  { range: 'bytes=0-3' },
  { range: 'bytes=9999-' },
  { 'accept-encoding': 'br' },
]

test('O8 no header makes a hidden page differ from a missing one', async () => {
  const site = await startAccessSite(ACCESS.readers)
  const page = await site.as('ann', `/repos/${HIDDEN}/2.0/`)
  const etag = page.headers.get('etag') ?? ''
  expect(page.headers.get('cache-control')).toBe('private, no-cache')
  for (const headers of [...HEADERS, { 'if-none-match': etag }, { 'if-range': etag, range: 'bytes=0-3' }])
    for (const path of ['/2.0/', '/2.0', '/', '/nowhere']) {
      const [hidden, missing] = await Promise.all(
        [HIDDEN, MISSING].map(async (repo) =>
          seen(await site.as('bob', `/repos/${repo}${path}`, { headers })),
        ),
      )
      expect([headers, hidden]).toMatchObject([
        headers,
        { status: 404, headers: { 'cache-control': 'no-store' } },
      ])
      expect([headers, renamed(hidden)]).toEqual([headers, missing])
    }
})

test('O8 a denied request asks the store for as much as one for a missing repository, and fails with it', async () => {
  let store: FaultyStore | undefined
  const site = await startAccessSite(ACCESS.readers, 'hidden', {
    store: (inner) => (store = new FaultyStore(inner)),
  })
  for (const path of [`/repos/${HIDDEN}/2.0/`, '/_api/repos']) await site.as('ann', path)
  const asked = async (repo: string, path: string): Promise<readonly string[]> => {
    const before = store?.opened.length
    await site.as('bob', `/repos/${repo}${path}`)
    return (store?.opened ?? []).slice(before).map((key) => key.replace(`.denied-${HIDDEN}`, MISSING))
  }
  for (const path of ['/2.0/', '/2.0', '', '/', '/x/y'])
    expect([path, await asked(HIDDEN, path)]).toEqual([path, await asked(MISSING, path)])
  if (store !== undefined) store.fails = 'down'
  for (const path of ['/3.0/', '/2.0/'])
    expect(renamed(await seen(await site.as('bob', `/repos/${HIDDEN}${path}`)))).toEqual(
      await seen(await site.as('bob', `/repos/${MISSING}${path}`)),
    )
})

const QUERIES = [
  '/',
  '/llms.txt',
  '/repos/shared/llms.txt',
  '/repos/open/llms.txt',
  '/_api/pages?repo=shared',
  `/_api/pages?repo=${HIDDEN}`,
  `/repos/${HIDDEN}/llms.txt`,
  `/repos/${HIDDEN}/2.0/llms.txt`,
  `/_api/page?path=/repos/${HIDDEN}/2.0/`,
  '/_api/repos',
  '/_api/search?q=salary',
  '/_api/search?q=salaries',
  '/_api/search?q=salads',
  '/_api/search?q=dependancias',
  '/_api/search?q=the&limit=1',
  '/_api/search?q=the&limit=1&offset=1',
  '/_api/search?q=the&version=1.0',
  '/_api/search?q=the&version=2.0',
  `/_api/search?q=the&repo=${HIDDEN}`,
  `/_api/search?q=the&repo=${HIDDEN}&version=1.0`,
  '/_api/search?q=secret&repo=hr-broken',
  '/?q=salary',
  '/?q=the',
  `/?q=the&repo=${HIDDEN}`,
]

test.each(['readers', 'nobody'] as const)(
  'O8 lists, searches, counts, suggestions and notes are those of a site without the hidden repositories (default: %s)',
  async (without) => {
    const whole = await startAccessSite(ACCESS[without], 'hidden')
    const small = await startAccessSite(ACCESS[without], 'none')
    expect(await (await whole.as('ann', '/_api/search?q=salary')).json()).toMatchObject({
      total: 1,
      hits: [{ repo: HIDDEN, version: '2.0' }],
      unsearched: [{ repo: 'hr-broken' }, { repo: 'hr-plain' }],
    })
    for (const path of QUERIES) {
      const [one, two] = await Promise.all(
        [whole, small].map(async (site) => seen(await site.as('bob', path))),
      )
      expect([path, one]).toEqual([path, two])
    }
    expect(await (await whole.as('bob', '/_api/search?q=salads')).json()).toMatchObject({ total: 1 })
    expect(masked(await (await whole.as('bob', '/')).text())).not.toMatch(/secret|hr-|hrhr/)
  },
)

test('O8 a public repository needs no login, and shows nothing else', async () => {
  const site = await startAccessSite(ACCESS.nobody)
  for (const who of ['visitor', 'bob', 'ann'] as const) {
    const page = await site.as(who, '/repos/open/')
    expect([page.status, await page.text()]).toEqual([200, 'open page'])
    expect(page.headers.get('cache-control')).toBe('private, no-cache')
    expect((await site.as(who, '/repos/open', {})).headers.get('location')).toBe('/repos/open/')
    const missing = await site.as(who, '/repos/open/x.html')
    expect([missing.status, await missing.text()]).toEqual([404, 'nothing here'])
  }
  const others = [
    '/',
    '/llms.txt',
    '/_api/page?path=/repos/open/',
    '/_api/repos',
    '/_api/search?q=open&repo=open',
    '/open/',
    '/repos/',
    '/repos/shared/',
  ]
  for (const path of [...others, '/repos/open/..%2fshared/', '/repos/openx/', '/metrics'])
    expect([path, (await site.as('visitor', path)).status]).toEqual([path, 302])
  expect((await site.as('visitor', '/repos/open/', { method: 'POST' })).status).toBe(303)
})

test('O8 on hosts of repositories, too, a hidden repository is like a missing one', async () => {
  const site = await startAccessSite(ACCESS.nobody, 'hidden', {
    settings: { http: { port: 0, repo_domain: 'docs.example' } },
  })
  const browserOf = async (name?: string): Promise<RepoBrowser> => {
    const browser = new RepoBrowser(site.url)
    if (name === undefined) return browser
    const form = new URLSearchParams({ username: name, password: name })
    await browser.ask('//docs.example/_login', 'POST', form)
    return browser
  }
  const ann = await browserOf('ann')
  expect((await ann.go(`//${HIDDEN}.docs.example/`)).body).toBe('secret page')
  const shown = ({ status, headers, body, at }: Awaited<ReturnType<RepoBrowser['ask']>>): unknown => {
    const { date: _date, ...rest } = headers
    return JSON.parse(masked(JSON.stringify({ status, rest, body, at })))
  }
  for (const name of ['bob', undefined]) {
    const browser = await browserOf(name)
    const requests = (repo: string): readonly string[] => [
      ...['/', '/2.0/', '/2.0', '/nowhere', '/_api/search?q=salary', '/_enter?ticket=x&next=/'].map(
        (path) => `//${repo}.docs.example${path}`,
      ),
      ...pathsOf(repo).map((path) => `//docs.example${path}`),
      `//docs.example/_hand-over?repo=${repo}&state=${'s'.repeat(43)}`,
    ]
    const missing = requests(MISSING)
    for (const [i, at] of requests(HIDDEN).entries())
      for (const way of ['ask', 'go'] as const)
        expect([name, renamed(shown(await browser[way](at)))]).toEqual([
          name,
          shown(await browser[way](missing[i] ?? '')),
        ])
  }
  const visitor = await browserOf()
  expect((await visitor.ask('//open.docs.example/')).body).toBe('open page')
  expect((await visitor.ask('//open.docs.example/_api/search?q=open')).status).toBe(302)
  expect((await visitor.ask('//docs.example/repos/open/')).headers['location']).toBe('//open.docs.example/')
})

test('O8 groups come from a trusted proxy alone', async () => {
  const settings = (proxy: string) => ({
    users: [{ name: 'bob', password_hash: cheapHash('bob') }],
    http: { port: 0, trusted_proxies: [proxy] },
    header_auth: { header: 'X-User', groups_header: 'X-Groups', groups_separator: '|' },
    access: { rules: [{ repos: ['a'], groups: ['hr'] }] },
  })
  const files = { 'repos/a/index.html': 'secret page' }
  const trusted = await startContent(files, { settings: settings('127.0.0.0/8') })
  const status = async ({ askAnonymous }: typeof trusted, headers: Record<string, string>): Promise<number> =>
    (await askAnonymous('/repos/a/', { headers })).status
  expect(await status(trusted, { 'x-user': 'eve', 'x-groups': 'x|hr' })).toBe(200)
  expect(await status(trusted, { 'x-user': 'eve', 'x-groups': 'x,hr' })).toBe(404)
  expect(await status(trusted, { 'x-user': 'eve' })).toBe(404)
  expect(await status(trusted, { 'x-groups': 'hr' })).toBe(302)
  const direct = await startContent(files, { settings: settings('10.0.0.1') })
  const cookie = cookieOf(await direct.logIn({ username: 'bob', password: 'bob' }))
  expect(await status(direct, { 'x-user': 'eve', 'x-groups': 'hr' })).toBe(302)
  expect(await status(direct, { 'x-user': 'eve', 'x-groups': 'hr', cookie })).toBe(404)
})
