import { expect, test } from 'vitest'
import { startAccessSite } from '../../../support/content/access-site.ts'
import { startContent } from '../../../support/content/content-server.ts'
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
    ['/repos/guide/2.0/away/a%20b/?x=1', 302, 'https://ex.example/a%20b?x=1'],
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

test('O6 redirects remain on the host of the repository', async () => {
  const content = await startRepoHosts()
  await content.store.write('repos/guide/_redirects', Buffer.from('/old /deep/#x 301'), { contentType: '' })
  const browser = await loggedIn(content)
  await browser.go('//guide.docs.example:99/')
  const there = await browser.ask('//guide.docs.example:99/old?q')
  expect([there.status, there.headers['location']]).toEqual([301, '/deep/?q#x'])
  const short = await browser.ask('//docs.example:99/guide/old')
  expect(short.headers['location']).toBe('//guide.docs.example:99/deep/#x')
})
