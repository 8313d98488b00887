import { request } from 'node:http'
import { expect, test } from 'vitest'
import { startAccessSite } from '../../../support/content/access-site.ts'
import { startContent, type TestContent } from '../../../support/content/content-server.ts'
import { loggedIn, startRepoHosts } from '../../../support/content/repo-site.ts'

const FILES = {
  'repos/guide/_meta.json': JSON.stringify({ versions: ['2.0'], latest: '2.0' }),
  'repos/guide/_redirects': '/1.0/* /2.0/:splat 301\n/old /2.0/?from=old 307\nbroken\n',
  'repos/guide/2.0/_redirects': `
/start /new/page.html#top 308
/app/* /index.html 200
/away/* https://ex.example/:splat
/there.html /nowhere
/meta /_redirects 200
`,
  'repos/guide/2.0/index.html': 'start',
  'repos/guide/2.0/there.html': 'there',
  'repos/guide/2.0/clean.html': 'clean',
  'repos/guide/2.0/both.html': 'file',
  'repos/guide/2.0/both/index.html': 'folder',
  'repos/other/index.html': 'other',
  '_root/about.html': 'about',
}

test('the redirects of a version and of its repository apply to pages that do not exist', async () => {
  const { ask } = await startContent(FILES)
  const table = [
    ['/repos/guide/2.0/start', 308, '/repos/guide/2.0/new/page.html#top'],
    ['/repos/guide/2.0/start?q=1', 308, '/repos/guide/2.0/new/page.html?q=1#top'],
    ['/repos/guide/latest/start', 308, '/repos/guide/latest/new/page.html#top'],
    ['/repos/guide/2.0/away/a%20b/?x=1', 302, 'https://ex.example/a%20b/?x=1'],
    ['/repos/guide/2.0/away/a%20b', 302, 'https://ex.example/a%20b'],
    ['/repos/guide/1.0/clean', 301, '/repos/guide/2.0/clean'],
    ['/repos/guide/old?a=b', 307, '/repos/guide/2.0/?from=old'],
    ['/guide/old', 307, '/repos/guide/2.0/?from=old'],
    ['/repos/guide/2.0/clean/', 302, '/repos/guide/2.0/clean'],
    ['/repos/guide', 302, '/repos/guide/2.0/'],
  ] as const
  for (const [path, status, location] of table) {
    const { status: is, headers } = await ask(path)
    expect([path, is, headers.get('location'), headers.get('cache-control')]).toEqual([
      path,
      status,
      location,
      'no-store',
    ])
  }
  for (let i = 0; i < 2; i++) {
    expect(await (await ask('/repos/guide/2.0/app/deep/route')).text()).toBe('start')
    expect(await (await ask('/repos/guide/2.0/there.html')).text()).toBe('there')
    expect(await (await ask('/repos/guide/2.0/clean')).text()).toBe('clean')
    expect(await (await ask('/about')).text()).toBe('about')
  }
  for (const path of ['_redirects', '2.0/_redirects', '2.0/meta', '2.0/Start'])
    expect([path, (await ask(`/repos/guide/${path}`)).status]).toEqual([path, 404])
})

test('a rule with status 200 serves the page of its target, which may be a folder, a clean address or an alias', async () => {
  const { ask } = await startContent({
    'repos/guide/_meta.json': JSON.stringify({ versions: ['2.0'], latest: '2.0' }),
    'repos/guide/_redirects': [
      '/blog/* /news/:splat 200',
      '/folder/* /news/post 200',
      '/file /news/file/ 200',
      '/stable/* /latest/:splat 200',
    ].join('\n'),
    'repos/guide/news/post/index.html': 'post',
    'repos/guide/news/file.html': 'file',
    'repos/guide/2.0/page.html': 'page',
  })
  const table = [
    ['blog/post/', 200, 'post'],
    ['blog/post', 302, '/repos/guide/blog/post/'],
    ['blog/post/index.html', 200, 'post'],
    ['blog/file', 200, 'file'],
    ['blog/file/', 302, '/repos/guide/blog/file'],
    ['blog/none', 404, ''],
    ['folder', 200, 'post'],
    ['folder/a/b/', 200, 'post'],
    ['file', 200, 'file'],
    ['file/', 200, 'file'],
    ['stable/page', 200, 'page'],
    ['stable/page.html', 200, 'page'],
  ] as const
  for (const [path, status, expected] of table) {
    const answer = await ask(`/repos/guide/${path}`)
    expect([path, answer.status]).toEqual([path, status])
    if (status !== 404)
      expect([path, answer.headers.get('location') ?? (await answer.text())]).toEqual([path, expected])
  }
})

test(
  'redirects that never end are 404 at once, also across files, aliases, hosts and Unicode forms',
  { tags: ['long'] },
  async () => {
    const content = await startContent(
      {
        'repos/guide/_meta.json': JSON.stringify({ versions: ['2.0'], latest: '2.0' }),
        'repos/guide/_redirects': [
          '/guide /guide/ 301',
          '/a /b',
          '/b /a?x=1',
          '/v/* /v/:splat/ 301',
          '/up/* /up/x/:splat',
          '/docs/* /docs/new/:splat',
          '/n/:x /n/:x#top',
          '/caf\u00e9 /cafe\u0301',
          '/2.0/loop /latest/loop',
          '/2.0/both /2.0/out',
          '/host http://docs.example:8090/repos/guide/host',
          '/short http://docs.example:8090/guide/short',
          '/away http://other.example/repos/guide/away',
          ...Array.from({ length: 30 }, (_, at) => `/c/${at} /c/${at + 1}`),
        ].join('\n'),
        'repos/guide/404.html': 'not in guide',
        'repos/a/404.html': 'not in a',
        'repos/guide/docs/new/page.html': 'new',
        'repos/guide/2.0/_redirects': '/out /both\n/both /out\n',
        'repos/guide/2.0/page.html': 'page',
      },
      { settings: { http: { port: 0, allowed_hosts: ['docs.example'] } } },
    )
    const paths = ['guide', 'guide/', 'a', 'b', 'v/1', 'v/1/2', 'up/k', 'docs/none', 'n/9', 'c/0']
    for (const path of [
      ...paths,
      'caf\u00e9',
      'cafe\u0301',
      '2.0/loop',
      '2.0/both',
      'latest/out',
      'host',
      'short',
    ]) {
      const url = `/repos/guide/${encodeURI(path)}`
      const status = await statusAt(content, url, 'docs.example:8090')
      expect([path, status]).toEqual([path, 404])
      expect([path, (await content.ask(`/_api/page?path=${url}`)).status]).toEqual([path, 404])
    }
    const short = await content.ask('/guide/a')
    expect([short.status, await short.text()]).toEqual([404, 'not in guide'])
    expect((await content.ask('/repos/guide/docs/page')).headers.get('location')).toBe(
      '/repos/guide/docs/new/page',
    )
    expect((await content.ask('/repos/guide/c/25')).headers.get('location')).toBe('/repos/guide/c/26')
    expect(await statusAt(content, '/repos/guide/away', 'docs.example:8090')).toBe(302)
    const page = await content.ask('/_api/page?path=/repos/guide/docs/page')
    expect(await page.json()).toMatchObject({ path: '/repos/guide/docs/new/page' })
  },
)

/** Returns the status of a path for a host name, which `fetch` would not send. */
function statusAt({ url, cookie }: TestContent, path: string, host: string): Promise<number | undefined> {
  return new Promise((resolve, reject) => {
    request(url + path, { headers: { cookie, host } }, (response) => resolve(response.resume().statusCode))
      .on('error', reject)
      .end()
  })
}

test('O8 redirects do not open pages of other repositories', async () => {
  const site = await startAccessSite({ default: 'nobody', rules: [{ repos: ['open'], public: true }] })
  const rules = '/a /../hrhr/2.0/ 200\n/b /%2e%2e/hrhr/2.0/ 200\n/c/* /:splat 200\n/d /repos/hrhr/2.0/ 302\n'
  await site.store.write('repos/open/_redirects', Buffer.from(rules), { contentType: '' })
  for (const path of ['a', 'b', 'c/..%2fhrhr/2.0/', 'c/%2e%2e/hrhr/2.0/'])
    for (const who of ['visitor', 'bob'] as const) {
      const answer = await site.as(who, `/repos/open/${path}`)
      expect([path, await answer.text()]).not.toEqual([path, 'secret page'])
      // An address that no object can have is in no repository.
      const isLogin = who === 'visitor' && path.includes('%2f')
      expect([path, answer.status]).toEqual([path, isLogin ? 302 : 404])
    }
  expect((await site.as('visitor', '/repos/open/d')).headers.get('location')).toBe(
    '/repos/open/repos/hrhr/2.0/',
  )
})

const RULES_OF_HOST = `
/old /deep/#x 301
/self http://guide.docs.example:99/self
/common http://docs.example:99/repos/guide/common
`

test('O6 redirects remain on the host of the repository', async () => {
  const content = await startRepoHosts()
  await content.store.write('repos/guide/_redirects', Buffer.from(RULES_OF_HOST), { contentType: '' })
  const browser = await loggedIn(content)
  await browser.go('//guide.docs.example:99/')
  const there = await browser.ask('//guide.docs.example:99/old?q')
  expect([there.status, there.headers['location']]).toEqual([301, '/deep/?q#x'])
  for (const path of ['self', 'common'])
    expect([path, (await browser.ask(`//guide.docs.example:99/${path}`)).status]).toEqual([path, 404])
  const short = await browser.ask('//docs.example:99/guide/old')
  expect(short.headers['location']).toBe('//guide.docs.example:99/deep/#x')
})
