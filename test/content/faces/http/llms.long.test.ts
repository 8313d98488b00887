import { text } from 'node:stream/consumers'
import { expect, test } from 'vitest'
import { formatIndex } from '../../../../src/content/search/search-index.ts'
import { ACCESS, HIDDEN, startAccessSite } from '../../../support/content/access-site.ts'
import { startContent } from '../../../support/content/content-server.ts'
import { nodesIn, parseMarkdown } from '../../../support/content/markdown-tree.ts'
import { RepoBrowser } from '../../../support/content/repo-browser.ts'

const index = (pages: readonly (readonly [path: string, title: string])[]): Promise<string> =>
  text(formatIndex(pages.map(([path, title]) => ({ path, title, text: 'words', sections: [] }))))

const META = { versions: ['2.0', '1.0'], latest: '2.0', aliases: { stable: '1.0' }, description: 'How *to*' }

async function files(): Promise<Record<string, string>> {
  return {
    'repos/guide/_meta.json': JSON.stringify(META),
    'repos/guide/2.0/_search.json': await index([
      ['index.html', 'Start'],
      ['a (b).html', '[Title](x) `c`'],
      ['api/index.html', ''],
      ['api/one.html', 'One\n## x'],
    ]),
    'repos/guide/2.0/index.html': '<p>start',
    'repos/guide/2.0/a (b).html': '<p>a b',
    'repos/guide/2.0/api/index.html': '<p>api',
    'repos/guide/2.0/api/one.html': '<p>one',
    'repos/guide/1.0/_search.json': await index([['index.html', 'Old start']]),
    'repos/own/_meta.json': JSON.stringify({ versions: ['1.0'], latest: '1.0' }),
    'repos/own/1.0/llms.txt': 'published',
    'repos/bare/index.html': '<p>no index',
  }
}

/** Returns the addresses and texts of all links. */
function linksIn(markdown: string): readonly (readonly [url: string, text: string])[] {
  return nodesIn(parseMarkdown(markdown))
    .filter(({ type }) => type === 'Link')
    .map((link) => [
      link.url ?? '',
      nodesIn(link)
        .map(({ value = '' }) => value)
        .join(''),
    ])
}

test('llms.txt lists repositories and their pages, and every link is answered with Markdown', async () => {
  const content = await startContent(await files())
  const site = await content.ask('/llms.txt')
  expect([
    site.headers.get('content-type'),
    site.headers.get('cache-control'),
    site.headers.get('vary'),
  ]).toEqual(['text/plain; charset=utf-8', 'private, no-cache', 'cookie, authorization'])
  const start = await site.text()
  expect(start).toMatch(/^# Documentation\n[^]*- \[guide\]\(\/repos\/guide\/llms\.txt\): How \\\*to\\\*\n/)
  expect(linksIn(start)).toEqual(['bare', 'guide', 'own'].map((name) => [`/repos/${name}/llms.txt`, name]))

  const guide = await (await content.ask('/repos/guide/llms.txt')).text()
  expect(guide).toMatch(/^# guide\n\n> How \\\*to\\\*\n\nVersion 2\.0\.\n\nOther versions: 1\.0\./)
  expect(linksIn(guide)).toEqual([
    ['/repos/guide/2.0/index.html.md', 'Start'],
    ['/repos/guide/2.0/a%20%28b%29.html.md', '[Title](x) `c`'],
    ['/repos/guide/2.0/api/index.html.md', 'api/index.html'],
    ['/repos/guide/2.0/api/one.html.md', 'One ## x'],
  ])
  expect(guide).toContain('\n## Pages\n\n- [Start]')
  expect(guide).toContain('\n## api\n\n- [api')
  for (const [url] of linksIn(guide)) {
    const { status, headers } = await content.ask(url)
    expect([url, status, headers.get('content-type')]).toEqual([url, 200, 'text/markdown; charset=utf-8'])
  }
  for (const path of ['/repos/guide/1.0/llms.txt', '/repos/guide/stable/llms.txt'])
    expect(linksIn(await (await content.ask(path)).text())).toEqual([
      ['/repos/guide/1.0/index.html.md', 'Old start'],
    ])
})

test.each([
  ['/repos/own/llms.txt', 302, ''],
  ['/repos/own/1.0/llms.txt', 200, 'published'],
  ['/repos/bare/llms.txt', 200, '# bare\n\nThe pages cannot be listed: `no_index`.'],
  ['/repos/none/llms.txt', 404, ''],
  ['/repos/guide/3.0/llms.txt', 404, ''],
  ['/repos/guide/2.0/api/llms.txt', 404, ''],
  ['/repos/guide/llms.txt/', 404, ''],
])('%s is answered with %s and %j', async (path, status, start) => {
  const content = await startContent(await files())
  const response = await content.ask(path)
  expect([response.status, (await response.text()).slice(0, start.length)]).toEqual([status, start])
  if (status === 302) expect(response.headers.get('location')).toBe('/repos/own/1.0/llms.txt')
  expect((await content.ask(path, { method: 'HEAD' })).status).toBe(status)
})

test('a published llms.txt of the site takes precedence', async () => {
  const content = await startContent({ '_root/llms.txt': 'own' })
  expect(await (await content.ask('/llms.txt')).text()).toBe('own')
})

test('llms.txt is bounded, counts what it leaves out, and the API lists all pages', async () => {
  const many = Array.from({ length: 2_500 }, (_, i) => [`${i}.html`, `Page ${i} ${'x'.repeat(500)}`] as const)
  const content = await startContent({ 'repos/guide/_search.json': await index(many) })
  const list = await (await content.ask('/repos/guide/llms.txt')).text()
  expect(list.length).toBeLessThan(260_000)
  const shown = linksIn(list).length
  expect(list).toContain(
    `\n${2_500 - shown} more entries are left out. \`/_api/pages?offset=2000&repo=guide\``,
  )
  interface Part {
    readonly pages: readonly { readonly path: string }[]
    readonly total: number
    readonly next_offset?: number
  }
  const titles: string[] = []
  for (let next: number | undefined = 0; next !== undefined;) {
    const response = await content.ask(`/_api/pages?repo=guide&limit=999&offset=${next}`)
    const page = (await response.json()) as Part
    expect(page.total).toBe(2_500)
    titles.push(...page.pages.map(({ path }) => path))
    next = page.next_offset
  }
  expect(titles).toEqual(many.map(([path]) => path))
})

test.each([
  [
    '/_api/pages?repo=guide',
    200,
    { version: '2.0', total: 4, pages: [{ url: '/repos/guide/2.0/index.html' }, {}, {}, {}] },
  ],
  ['/_api/pages?repo=guide&version=stable&limit=1', 200, { version: '1.0', total: 1 }],
  ['/_api/pages?repo=bare', 200, { pages: [], total: 0, reason: 'no_index' }],
  ['/_api/pages?repo=guide&offset=9', 200, { pages: [], total: 4 }],
  ['/_api/pages?repo=none', 404, { error: { message: 'no repository has the name "none"' } }],
  [
    '/_api/pages?repo=guide&version=9',
    404,
    { error: { message: 'no repository has the name "guide" and the version "9"' } },
  ],
  ['/_api/pages?repo=guide&limit=0', 400, { error: { code: 'INVALID_QUERY' } }],
  ['/_api/pages', 404, {}],
  ['/_api/page?path=/repos/guide/2.0/', 200, { path: '/repos/guide/2.0/', markdown: 'start\n' }],
  ['/_api/page?path=/repos/guide/', 200, { path: '/repos/guide/2.0/', markdown: 'start\n' }],
  ['/_api/page?path=/guide%23x', 200, { path: '/repos/guide/2.0/', markdown: 'start\n' }],
  [
    '/_api/page?path=/repos/guide/2.0/api/one.html.md',
    200,
    { path: '/repos/guide/2.0/api/one.html', markdown: 'one\n' },
  ],
  ['/_api/page?path=/repos/guide/2.0/api/one', 200, { markdown: 'one\n' }],
  ['/_api/page?path=/repos/guide/2.0/none', 404, { error: { code: 'PAGE_NOT_FOUND' } }],
  ['/_api/page?path=/repos/own/1.0/llms.txt', 404, { error: { code: 'PAGE_NOT_FOUND' } }],
  ['/_api/page?path=https://evil.example/', 404, { error: { code: 'PAGE_NOT_FOUND' } }],
  ['/_api/page?path=/%252e%252e/', 404, { error: { code: 'PAGE_NOT_FOUND' } }],
  ['/_api/page', 400, { error: { code: 'INVALID_QUERY' } }],
])('%s returns %s with %j', async (path, status, body) => {
  const content = await startContent(await files())
  const response = await content.ask(path)
  expect([response.status, await response.json()]).toMatchObject([status, body])
})

test('O8 llms.txt of readers, visitors and hosts shows only what they may read', async () => {
  const site = await startAccessSite(ACCESS.nobody)
  const names = async (who: 'ann' | 'bob'): Promise<readonly string[]> =>
    linksIn(await (await site.as(who, '/llms.txt')).text()).map(([, name]) => name)
  expect(await names('bob')).toEqual(['open', 'shared'])
  expect(await names('ann')).toEqual(['hr-broken', 'hr-plain', HIDDEN, 'open', 'shared'])
  expect((await site.as('visitor', '/llms.txt')).status).toBe(302)
  expect((await site.as('visitor', '/repos/shared/llms.txt')).status).toBe(302)
  expect(await (await site.as('visitor', '/repos/open/llms.txt')).text()).toMatch(/^# open\n/)
  const pages = await site.as('visitor', '/_api/pages?repo=open')
  expect([pages.status, await pages.json()]).toMatchObject([200, { total: 1 }])
})

test('with hosts of repositories, each serves its list, and the common one links to them', async () => {
  const site = await startAccessSite(ACCESS.nobody, 'hidden', {
    settings: { http: { port: 0, repo_domain: 'docs.example' } },
  })
  const bob = new RepoBrowser(site.url)
  await bob.ask('//docs.example/_login', 'POST', new URLSearchParams({ username: 'bob', password: 'bob' }))
  const links = linksIn((await bob.go('//docs.example/llms.txt')).body).map(([url]) =>
    url.replace(/:\d+/, ''),
  )
  expect(links).toEqual(['//open.docs.example/llms.txt', '//shared.docs.example/llms.txt'])
  const list = (await bob.go('//shared.docs.example/llms.txt')).body
  expect(list).toContain('`/_api/search?q=WORDS` searches')
  expect(linksIn(list)).toEqual([
    ['/2.0/0.html.md', '0.html'],
    ['/2.0/1.html.md', '1.html'],
  ])
  expect((await bob.go(`//${HIDDEN}.docs.example/llms.txt`)).status).toBe(404)
})
