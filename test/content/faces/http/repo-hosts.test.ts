import { text } from 'node:stream/consumers'
import { request } from 'node:http'
import { buffer } from 'node:stream/consumers'
import { expect, test } from 'vitest'
import { formatIndex } from '../../../../src/content/search/search-index.ts'
import { startContent, type TestContent } from '../../../support/content/content-server.ts'
import { RepoBrowser } from '../../../support/content/repo-browser.ts'
import { routesIn } from '../../../support/content/routes.ts'
import { COMMON, loggedIn, REPO_FILES, startRepoHosts } from '../../../support/content/repo-site.ts'

test('O6 with a domain each repository has a separate host, and one login is valid for all', async () => {
  const browser = await loggedIn(await startRepoHosts())
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
  expect((await browser.go(`//${COMMON}/repos/${'n'.repeat(70)}/`)).body).toContain(
    'too long for a separate host',
  )
  expect((await browser.ask('//evil.example/')).status).toBe(403)
  for (const host of ['docs.example', 'guide.docs.example'])
    expect(browser.cookiesFor(host).filter((each) => each.startsWith('_session='))).toHaveLength(1)
})

test('O6 a link to a repository leads a logged-out reader to the login and back to the page', async () => {
  const { url } = await startRepoHosts()
  const browser = new RepoBrowser(url)
  const login = await browser.go('//guide.docs.example:99/deep/?q=a%26b')
  expect([login.status, login.at.split('?')[0]]).toEqual([200, `//${COMMON}/_login`])
  const next = new URL(login.at, 'http://x').searchParams.get('next') ?? ''
  const form = new URLSearchParams({ password: 'right', next })
  const answer = await browser.ask(`//${COMMON}/_login`, 'POST', form)
  const there = await browser.go(`//${COMMON}${String(answer.headers['location'])}`)
  expect(there).toMatchObject({ status: 200, body: 'deep', at: '//guide.docs.example:99/deep/?q=a%26b' })
})

test('O6 every page on the host of a repository has Cross-Origin-Resource-Policy, also from memory', async () => {
  const browser = await loggedIn(await startRepoHosts())
  await browser.go('//guide.docs.example:99/')
  for (let i = 0; i < 3; i++) {
    const { status, headers } = await browser.ask('//guide.docs.example:99/')
    expect([status, headers['cross-origin-resource-policy']]).toEqual([200, 'same-origin'])
  }
})

const ON_REPO_HOSTS = new Set(['GET /_enter', 'GET /_api/search', 'GET /_api/versions', 'GET /_api/pages'])

test('O6 repository hosts serve no route of the site to anybody', async () => {
  const content = await startRepoHosts()
  const browser = await loggedIn(content)
  await browser.go('//guide.docs.example:99/')
  const routes = routesIn((await browser.ask(`//${COMMON}/openapi.json`)).body)
  const hosts = ['guide', 'GUIDE', 'missing', 'a.guide', 'x--zz', 'x--6775696465', '-', 'xn--nxasmq6b']
  for (const who of [browser, new RepoBrowser(content.url)])
    for (const host of hosts)
      for (const [method, path] of routes)
        for (const spelled of [path, `${path}?x=1`]) {
          if (ON_REPO_HOSTS.has(`${method} ${path}`)) continue
          const { status } = await who.ask(`//${host}.docs.example:99${spelled}`, method)
          expect([host, method, spelled, status]).toEqual([host, method, spelled, 404])
        }
  // The common host still has these routes.
  expect((await browser.ask(`//${COMMON}/_api/repos`)).status).toBe(200)
  expect((await browser.ask(`//${COMMON}/metrics`)).status).toBe(200)
})

test("O6 a repository's host searches and lists only that repository", async () => {
  const page = { path: 'index.html', title: 'Salaries', text: 'the salary of Alice', sections: [] }
  const index = await text(formatIndex([page]))
  const { url } = await startContent(
    { ...REPO_FILES, 'repos/guide/_search.json': index, 'repos/hr/_search.json': index },
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
  const pages = JSON.parse((await browser.ask('//guide.docs.example:99/_api/pages')).body) as object
  expect(pages).toMatchObject({ repo: 'guide', pages: [{ url: '/index.html' }], total: 1 })
  for (const path of ['search?q=salary&repo=hr', 'pages?repo=hr'])
    expect((await browser.ask(`//guide.docs.example:99/_api/${path}`)).status).toBe(400)
})

test.each(['no-cors', 'cors', 'websocket', 'same-origin', undefined])(
  'O6 a page of another repository or site loads nothing of a repository in mode %s',
  async (mode) => {
    const browser = await loggedIn(await startRepoHosts())
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

test('O6 a session is valid only on its own host', async () => {
  const content = await startRepoHosts()
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
  const content = await startRepoHosts({ isSecure: true })
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
  'O6 without https a cookie set over a session logs nobody in as another user: path %s',
  async (at) => {
    const content = await startRepoHosts()
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

/** Requests a host; fetch cannot set that header. */
async function askHost({ url, cookie }: TestContent, host: string, path: string) {
  const response = await new Promise<import('node:http').IncomingMessage>((resolve, reject) =>
    request(url + path, { headers: { cookie, host } }, resolve)
      .on('error', reject)
      .end(),
  )
  return { status: response.statusCode, headers: response.headers, body: await buffer(response) }
}

test('H1 every route refuses other host names', async () => {
  const content = await startContent(REPO_FILES)
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
