import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { ACCESS, startAccessSite } from '../../../support/content/access-site.ts'
import { publish } from '../../../../src/content/publish/publish.ts'
import { startContent } from '../../../support/content/content-server.ts'
import { loggedIn, startRepoHosts } from '../../../support/content/repo-site.ts'
import { RepoBrowser } from '../../../support/content/repo-browser.ts'
import { sendRaw } from '../../../support/http/raw-http.ts'
import { tempDir } from '../../../support/temp-dir.ts'

test('crawlers may read nothing, without a login', async () => {
  const site = await startAccessSite(ACCESS.readers)
  for (const who of ['visitor', 'ann'] as const) {
    const answer = await site.as(who, '/robots.txt')
    expect([answer.status, await answer.text()]).toEqual([200, 'User-agent: *\nDisallow: /\n'])
  }
})

test('O8 crawlers may read public repositories if that is configured, and see no other name', async () => {
  const settings = { robots: 'public' }
  const site = await startAccessSite(ACCESS.readers, 'hidden', { settings })
  const text = 'User-agent: *\nAllow: /repos/open/\nDisallow: /\n'
  for (const who of ['visitor', 'ann'] as const)
    expect(await (await site.as(who, '/robots.txt')).text()).toBe(text)
  const { askAnonymous } = await startContent({ 'repos/a/index.html': 'x' }, { settings })
  expect(await (await askAnonymous('/robots.txt')).text()).toBe('User-agent: *\nDisallow: /\n')
})

test('O8 on the host of a public repository crawlers may read everything, elsewhere nothing', async () => {
  const site = await startAccessSite(ACCESS.readers, 'hidden', {
    settings: { robots: 'public', http: { port: 0, repo_domain: 'docs.example' } },
  })
  const rules = async (host: string) => (await new RepoBrowser(site.url).ask(`//${host}/robots.txt`)).body
  expect(await rules('open.docs.example')).toBe('User-agent: *\nAllow: /\n')
  for (const host of ['hrhr.docs.example', 'none.docs.example'])
    expect(await rules(host)).toBe('User-agent: *\nDisallow: /\n')
})

test('the icon is the published one for readers of it, and otherwise the default', async () => {
  const content = await startContent({ '_root/favicon.ico': 'mine' })
  const type = async (answer: Response) => answer.headers.get('content-type')
  const own = await content.ask('/favicon.ico')
  expect([own.status, await own.text()]).toEqual([200, 'mine'])
  const visitor = await content.askAnonymous('/favicon.ico')
  expect([visitor.status, await type(visitor)]).toEqual([200, 'image/svg+xml'])
  const { ask } = await startContent()
  expect(await type(await ask('/favicon.ico'))).toBe('image/svg+xml')
})

test('O6 on the host of a repository the icon is its own', async () => {
  const content = await startRepoHosts()
  await content.store.write('repos/guide/favicon.ico', Buffer.from('of guide'), { contentType: '' })
  const browser = await loggedIn(content)
  await browser.go('//guide.docs.example:99/')
  expect((await browser.ask('//guide.docs.example:99/favicon.ico')).body).toBe('of guide')
  const visitor = await new RepoBrowser(content.url).ask('//guide.docs.example:99/favicon.ico')
  expect(visitor.headers['content-type']).toBe('image/svg+xml')
})

test('a target that cannot be decoded gets an error page for browsers, like other errors', async () => {
  const { url } = await startContent()
  for (const path of ['/repos/mk/%c0%ae', '/%', '/%zz/x']) {
    const answer = await sendRaw(
      Number(new URL(url).port),
      `GET ${path} HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n`,
    )
    expect(answer).toMatch(/^HTTP\/1\.1 400 /)
    expect(answer).toContain('content-type: text/html; charset=utf-8')
    expect(answer).toContain('x-content-type-options: nosniff')
    expect(answer).toMatch(/content-security-policy: default-src 'none'/)
    expect(answer).toContain('<h1>Invalid address</h1>')
  }
})

test('a form that the API refuses shows a page in a browser, and JSON to programs', async () => {
  const { ask } = await startContent()
  const post = (accept: string) =>
    ask('/_admin/cache/purge', { method: 'POST', headers: { accept, 'sec-fetch-site': 'same-origin' } })
  const page = await post('text/html,*/*;q=0.8')
  expect([page.status, page.headers.get('content-type')]).toEqual([403, 'text/html; charset=utf-8'])
  expect(page.headers.get('x-content-type-options')).toBe('nosniff')
  const body = await post('*/*')
  expect(await body.json()).toMatchObject({ error: { code: 'NOT_FOR_BROWSERS' } })
})

test('C5 files that publishing writes for servers are not served', async () => {
  const { ask } = await startContent({
    'repos/a/_meta.json': '{"versions":["1.0"],"latest":"1.0"}',
    'repos/a/_files.json': '{}',
    'repos/a/_search.json': '{}',
    'repos/a/1.0/_search.json': '{}',
    'repos/a/1.0/_files.json': '{}',
    'repos/a/deep/er/_meta.json': 'of the site',
    'repos/a/x_meta.json': 'of the site',
  })
  for (const path of ['_meta.json', '_files.json', '_search.json', '1.0/_search.json', 'latest/_files.json'])
    for (let i = 0; i < 2; i++) expect([path, (await ask(`/repos/a/${path}`)).status]).toEqual([path, 404])
  for (const path of ['deep/er/_meta.json', 'x_meta.json'])
    expect(await (await ask(`/repos/a/${path}`)).text()).toBe('of the site')
})

test('C7 a name is found in both normal forms of Unicode', async () => {
  const [composed, decomposed] = ['naïve', 'naïve'.normalize('NFD')]
  expect(composed).not.toBe(decomposed)
  const { ask } = await startContent({
    [`repos/a/${decomposed}.html`]: 'from macOS',
    [`repos/a/${composed}/index.html`]: 'composed',
    [`_root/${decomposed}.txt`]: 'root',
  })
  for (const name of [composed, decomposed]) {
    const path = encodeURIComponent(name)
    expect(await (await ask(`/repos/a/${path}.html`)).text()).toBe('from macOS')
    expect(await (await ask(`/repos/a/${path}/`)).text()).toBe('composed')
    expect(await (await ask(`/${path}.txt`)).text()).toBe('root')
  }
})

test(
  'published names, rules and their targets are found in every form of Unicode',
  { tags: ['long'] },
  async () => {
    const { ask, store } = await startContent()
    const forms = ['r\u00e9sum\u00e9', 're\u0301sume\u0301', 'r\u00e9sume\u0301']
    for (const [at, name] of forms.entries()) {
      const folder = tempDir()
      const [first = '', second = '', third = ''] = [0, 1, 2].map((more) => forms[(at + more) % forms.length])
      mkdirSync(join(folder, `${name}s`))
      writeFileSync(join(folder, `${name}.html`), 'page')
      writeFileSync(join(folder, `${name}s`, 'index.html'), 'index')
      writeFileSync(join(folder, `${name}s`, '404.html'), 'inner')
      writeFileSync(
        join(folder, '_redirects'),
        `/${first}1 /${second}.html\n/${second}2/* /${third}s/:splat\n/${third}3 /${first} 200\n`,
      )
      const repo = `r${at}`
      await publish({ folder, repo, deletes: false }, { store, nowMs: Date.now() })
      for (const form of forms) {
        const get = async (path: string): Promise<unknown[]> => {
          const { status, url } = await ask(`/repos/${repo}/${encodeURI(path)}`, { redirect: 'follow' })
          return [
            status,
            decodeURI(url)
              .normalize('NFC')
              .replace(/^.*\/repos\/r\d\//, ''),
          ]
        }
        const shown = forms[0] ?? ''
        expect(await get(`${form}.html`)).toEqual([200, `${shown}.html`])
        expect(await get(form)).toEqual([200, shown])
        expect(await get(`${form}/`)).toEqual([200, shown])
        expect(await get(`${form}s`)).toEqual([200, `${shown}s/`])
        expect(await get(`${form}1`)).toEqual([200, `${shown}.html`])
        expect(await get(`${form}2/404`)).toEqual([200, `${shown}s/404`])
        expect(await get(`${form}3`)).toEqual([200, `${shown}3`])
        const page = await ask(`/_api/page?path=/repos/${repo}/${encodeURI(form)}1`)
        expect(page.status).toBe(200)
      }
    }
  },
)

test('C8 pages do not reveal their address to other sites, which cannot show them in a frame', async () => {
  const { ask } = await startContent({ 'repos/a/index.html': 'x' })
  for (let i = 0; i < 2; i++)
    expect(Object.fromEntries((await ask('/repos/a/')).headers)).toMatchObject({
      'referrer-policy': 'same-origin',
      'content-security-policy': "frame-ancestors 'self'",
      'x-content-type-options': 'nosniff',
    })
})
