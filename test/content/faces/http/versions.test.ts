import { expect, test } from 'vitest'
import { SWITCHER_PATH } from '../../../../src/content/page/version-switcher.ts'
import { startAccessSite } from '../../../support/content/access-site.ts'
import { startContent } from '../../../support/content/content-server.ts'
import { loggedIn, startRepoHosts } from '../../../support/content/repo-site.ts'
import { FakeClock } from '../../../support/fake-clock.ts'

const meta = (value: object) => JSON.stringify(value)
const PAGE = `<!doctype html><h1>Two</h1>${'<p>words</p>'.repeat(300)}`
const FILES = {
  'repos/guide/_meta.json': meta({
    versions: ['1.0', '2.0'],
    latest: '2.0',
    aliases: { stable: '1.0', next: '2.0' },
  }),
  'repos/guide/2.0/index.html': PAGE,
  'repos/guide/2.0/deep/index.html': 'deep two',
  'repos/guide/2.0/app.js': 'two()',
  'repos/guide/2.0/404.html': 'not in two',
  'repos/guide/1.0/index.html': 'one',
  'repos/plain/index.html': 'plain',
  'repos/plain/stable/index.html': 'a folder',
}

test('an alias serves the pages of its version in place', async () => {
  const { ask } = await startContent(FILES)
  const table = [
    ['/repos/guide/latest/', 200, PAGE],
    ['/repos/guide/next/app.js', 200, 'two()'],
    ['/repos/guide/stable/', 200, 'one'],
    ['/repos/guide/latest/none.html', 404, 'not in two'],
    ['/repos/guide/1.0/', 200, 'one'],
    ['/repos/plain/stable/', 200, 'a folder'],
  ] as const
  for (const [path, status, body] of table)
    // Twice: the second time from memory.
    for (let i = 0; i < 2; i++) {
      const answer = await ask(path)
      expect([path, answer.status, await answer.text()]).toEqual([path, status, body])
    }
  expect((await ask('/repos/guide/gone/')).status).toBe(404)
  expect((await ask('/repos/plain/latest/')).status).toBe(404)
})

test('one redirect is enough to a page, also through an alias or a short address', async () => {
  const { ask } = await startContent(FILES)
  const to = async (path: string) => (await ask(path)).headers.get('location')
  expect(await to('/guide')).toBe('/repos/guide/2.0/')
  expect(await to('/guide?q=1')).toBe('/repos/guide/2.0/?q=1')
  expect(await to('/guide/latest/deep')).toBe('/repos/guide/latest/deep/')
  expect(await to('/repos/guide')).toBe('/repos/guide/2.0/')
  expect(await to('/repos/guide/latest')).toBe('/repos/guide/latest/')
  expect(await to('/repos/guide/stable?x')).toBe('/repos/guide/stable/?x')
  for (const path of ['/guide', '/repos/guide', '/repos/guide/latest', '/guide/next/deep'])
    expect((await ask((await to(path)) ?? '')).status).toBe(200)
})

test('a switched alias serves the other version after the cache expires, from memory too', async () => {
  const clock = new FakeClock()
  const { ask, store } = await startContent(FILES, { clock })
  const body = async () => (await ask('/repos/guide/stable/')).text()
  expect([await body(), await body()]).toEqual(['one', 'one'])
  const next = meta({ versions: ['1.0', '2.0'], latest: '2.0', aliases: { stable: '2.0' } })
  await store.write('repos/guide/_meta.json', Buffer.from(next), { contentType: '' })
  expect(await body()).toBe('one')
  await clock.pass(300_001)
  expect([await body(), await body()]).toEqual([PAGE, PAGE])
})

test('the versions of a repository are listed with their aliases, the latest first', async () => {
  const { ask } = await startContent(FILES)
  const answer = await ask('/_api/versions?repo=guide')
  expect(answer.headers.get('cache-control')).toBe('private, no-cache')
  expect(await answer.json()).toEqual({
    repo: 'guide',
    latest: '2.0',
    versions: [
      { version: '2.0', aliases: ['latest', 'next'], url: '/repos/guide/2.0/' },
      { version: '1.0', aliases: ['stable'], url: '/repos/guide/1.0/' },
    ],
  })
  expect(await (await ask('/_api/versions?repo=plain')).json()).toEqual({ repo: 'plain', versions: [] })
  for (const query of ['', '?repo=none', '?repo='])
    expect([query, (await ask(`/_api/versions${query}`)).status]).toEqual([query, 404])
  expect(await (await ask('/_api/repos')).json()).toMatchObject([
    { name: 'guide', aliases: { stable: '1.0', next: '2.0' } },
    { name: 'plain' },
  ])
})

test('O8 the versions of a public repository need no login, and no others are shown', async () => {
  const site = await startAccessSite({ default: 'nobody', rules: [{ repos: ['open'], public: true }] })
  expect((await site.as('visitor', '/_api/versions?repo=open')).status).toBe(200)
  for (const query of ['', '?repo=shared', '?repo=none', '?repo=open&repo=shared', '?repo=shared&repo=open'])
    expect([query, (await site.as('visitor', `/_api/versions${query}`)).status]).toEqual([query, 302])
  expect((await site.as('bob', '/_api/versions?repo=shared')).status).toBe(404)
})

test('O6 on the host of a repository the versions are those of this repository', async () => {
  const browser = await loggedIn(await startRepoHosts())
  await browser.go('//versioned.docs.example:99/2.0/')
  const { body } = await browser.ask('//versioned.docs.example:99/_api/versions')
  expect(JSON.parse(body)).toMatchObject({ repo: 'versioned', versions: [{ version: '2.0', url: '/2.0/' }] })
  expect((await browser.ask('//versioned.docs.example:99/_api/versions?repo=guide')).status).toBe(400)
  const short = await browser.ask('//docs.example:99/versioned')
  expect(short.headers['location']).toBe('//versioned.docs.example:99/2.0/')
})

test('the version switcher is added to HTML pages of versions if it is configured', async () => {
  const { ask } = await startContent(FILES, { settings: { versions: { switcher: true } } })
  const tag = `<script src="${SWITCHER_PATH}" defer></script>`
  for (const path of ['/repos/guide/2.0/', '/repos/guide/latest/', '/repos/guide/stable/'])
    for (let i = 0; i < 2; i++) expect(await (await ask(path)).text()).toContain(tag)
  expect(await (await ask('/repos/guide/2.0/none')).text()).toContain(tag)
  for (const path of ['/repos/guide/2.0/app.js', '/repos/plain/', '/repos/plain/stable/'])
    expect(await (await ask(path)).text()).not.toContain(tag)
  const { ask: without } = await startContent(FILES)
  expect(await (await without('/repos/guide/2.0/')).text()).toBe(PAGE)
  const etags = await Promise.all(
    [ask, without].map(async (each) => (await each('/repos/guide/2.0/')).headers.get('etag')),
  )
  expect(new Set(etags).size).toBe(2)
})

test('a page with the switcher has its own compressed forms, tags and ranges', async () => {
  const { ask, store } = await startContent(FILES, { settings: { versions: { switcher: true } } })
  await store.write('repos/guide/2.0/index.html.br', Buffer.from('a sibling without the switcher'), {
    contentType: '',
  })
  const path = '/repos/guide/2.0/'
  const plain = await ask(path, { headers: { 'accept-encoding': 'identity' } })
  const text = await plain.text()
  expect(plain.headers.get('content-length')).toBe(String(text.length))
  for (let i = 0; i < 2; i++) {
    const answer = await ask(path, { headers: { 'accept-encoding': 'br' } })
    expect(answer.headers.get('content-encoding')).toBe('br')
    expect(await answer.text()).toBe(text)
    const etag = answer.headers.get('etag') ?? ''
    const again = await ask(path, { headers: { 'accept-encoding': 'br', 'if-none-match': etag } })
    expect(again.status).toBe(304)
  }
  const part = await ask(path, { headers: { range: 'bytes=-10' } })
  expect([part.status, await part.text()]).toEqual([206, text.slice(-10)])
})

test('the script of the switcher is served on all hosts without a login', async () => {
  const { askAnonymous } = await startContent(FILES)
  const answer = await askAnonymous(SWITCHER_PATH)
  expect([answer.status, answer.headers.get('content-type')]).toEqual([200, 'text/javascript; charset=utf-8'])
})
