import { join } from 'node:path'
import { expect, test } from 'vitest'
import { findReads } from '../../../../src/content/reads/find-reads.ts'
import {
  ACCESS,
  HIDDEN,
  MISSING,
  renamed,
  seen,
  startAccessSite,
} from '../../../support/content/access-site.ts'
import { startContent } from '../../../support/content/content-server.ts'
import { tempDir } from '../../../support/temp-dir.ts'

const PAGE = `<title>Guide</title><nav>menu</nav><main><h1 id="top">Guide</h1><p>See <a href="deep/">more</a>.${'<p>words'.repeat(500)}</main>`
const FILES = {
  'repos/guide/_meta.json': JSON.stringify({ versions: ['2.0'], latest: '2.0', aliases: { stable: '2.0' } }),
  'repos/guide/2.0/index.html': PAGE,
  'repos/guide/2.0/deep/index.html': '<p>deep',
  'repos/guide/2.0/both.html': '<p>from HTML',
  'repos/guide/2.0/both.html.md': 'published',
  'repos/guide/2.0/app.js': 'x',
  'repos/guide/2.0/latin.html': '<p>x',
  'repos/guide/2.0/large.html': `<p>${'x'.repeat(60_000)}`,
  'repos/guide/2.0/404.html': '<p>no such page',
  'repos/guide/2.0/_redirects': '/app/* /index.html 200\n/old.html /both.html 301\n',
  '_root/about.html': '<p>about',
}
const MARKDOWN = { accept: 'text/markdown, text/html;q=0.9, */*;q=0.1' }
const START = '# Guide {#top}\n\nSee [more](deep/).\n\nwords\n'

test.each([
  ['/repos/guide/2.0/index.html.md', 200, START],
  ['/repos/guide/stable/index.html.md', 200, START],
  ['/repos/guide/2.0/index.md', 200, START],
  ['/repos/guide/2.0/deep/index.html.md', 200, 'deep\n'],
  ['/repos/guide/2.0/both.html.md', 200, 'published'],
  ['/repos/guide/2.0/both.md', 200, 'from HTML\n'],
  ['/about.html.md', 200, 'about\n'],
  ['/repos/guide/2.0/app.js.md', 404, '<p>no such page'],
  ['/repos/guide/2.0/large.html.md', 404, '<p>no such page'],
  ['/repos/guide/2.0/none.html.md', 404, '<p>no such page'],
  ['/repos/guide/2.0/.md', 404, '<p>no such page'],
  ['/repos/guide/2.0/index.html.md/', 404, '<p>no such page'],
  ['/repos/guide/2.0/_redirects.md', 404, '<p>no such page'],
])('%s is answered with status %s and %j', async (path, status, start) => {
  const content = await startContent(FILES, { settings: { cache: { max_object_bytes: '40KiB' } } })
  const response = await content.ask(path)
  expect([response.status, (await response.text()).slice(0, start.length)]).toEqual([status, start])
  if (status === 200) expect(response.headers.get('content-type')).toBe('text/markdown; charset=utf-8')
})

test.each([
  ['text/markdown', true],
  ['text/markdown, text/html, */*', true],
  ['TEXT/MARKDOWN;q=0.5;variant=GFM, text/html;q=0.4', true],
  ['text/markdown;q=0.5, */*;q=0.1', true],
  ['text/html, text/markdown;q=0.9', false],
  ['text/markdown;q=0.8', true],
  ['text/markdown;q=0, text/html', false],
  ['text/markdown;q=0', false],
  ['text/markdown;q=x, text/html', false],
  ['text/markdown;q=0.5, text/*', false],
  ['text/*', false],
  ['*/*', false],
  ['text/html', false],
])('Accept: %s selects Markdown: %s', async (accept, isMarkdown) => {
  const content = await startContent(FILES)
  // Twice, and after the HTML is in memory.
  for (let i = 0; i < 2; i++) {
    const { headers } = await content.ask('/repos/guide/2.0/', { headers: { accept } })
    expect([headers.get('content-type'), headers.get('vary')]).toEqual([
      isMarkdown ? 'text/markdown; charset=utf-8' : 'text/html; charset=utf-8',
      'accept, accept-encoding',
    ])
    await content.ask('/repos/guide/2.0/')
  }
})

test('Markdown has its own tag for each coding, and supports conditional requests, ranges and HEAD', async () => {
  const content = await startContent(FILES)
  const paths = [
    ['/repos/guide/2.0/', MARKDOWN],
    ['/repos/guide/2.0/index.html.md', {}],
  ] as const
  const html = await content.ask('/repos/guide/2.0/')
  for (const [path, more] of paths) {
    const tags = new Set([html.headers.get('etag')])
    for (const coding of ['identity', 'gzip', 'br']) {
      const headers = { ...more, 'accept-encoding': coding }
      const whole = await content.ask(path, { headers })
      const etag = whole.headers.get('etag') ?? ''
      expect([whole.status, tags.has(etag)]).toEqual([200, false])
      tags.add(etag)
      const again = await content.ask(path, { headers: { ...headers, 'if-none-match': etag } })
      expect([again.status, await again.text()]).toEqual([304, ''])
      const head = await content.ask(path, { headers, method: 'HEAD' })
      expect([head.status, head.headers.get('etag'), head.headers.get('content-type')]).toEqual([
        200,
        etag,
        'text/markdown; charset=utf-8',
      ])
      expect(head.headers.get('content-length')).toBe(whole.headers.get('content-length'))
      expect(
        (await content.ask(path, { headers: { ...headers, 'if-none-match': [...tags][0] ?? '' } })).status,
      ).toBe(200)
    }
    const part = await content.ask(path, { headers: { ...more, range: 'bytes=2-6' } })
    expect([part.status, await part.text()]).toEqual([206, 'Guide'])
  }
  expect(
    (await content.ask('/repos/guide/2.0/', { headers: { 'if-none-match': html.headers.get('etag') ?? '' } }))
      .status,
  ).toBe(304)
})

test('Markdown follows a changed page, and rules and "not found" pages have Markdown too', async () => {
  const content = await startContent(FILES)
  const ask = async (path: string) => {
    const response = await content.ask(path, { headers: MARKDOWN })
    return [response.status, (await response.text()).slice(0, 20)]
  }
  expect(await ask('/repos/guide/2.0/app/x')).toEqual([200, START.slice(0, 20)])
  expect(await ask('/repos/guide/2.0/nowhere')).toEqual([404, 'no such page\n'])
  expect(await ask('/repos/guide/2.0/old.html')).toEqual([301, ''])
  expect(await ask('/repos/guide/2.0/app.js')).toEqual([200, 'x'])
  expect(await ask('/repos/guide/2.0/deep')).toEqual([302, ''])
  await content.store.write('repos/guide/2.0/index.html', Buffer.from('<p>changed'), {
    contentType: 'text/html',
  })
  content.running.purge()
  expect(await ask('/repos/guide/2.0/')).toEqual([200, 'changed\n'])
  expect(await ask('/repos/guide/2.0/index.html.md')).toEqual([200, 'changed\n'])
})

test('the version switcher is not part of the Markdown', async () => {
  const content = await startContent(FILES, { settings: { versions: { switcher: true } } })
  expect(await (await content.ask('/repos/guide/2.0/deep/')).text()).toContain('_versions.js')
  expect(await (await content.ask('/repos/guide/2.0/deep/', { headers: MARKDOWN })).text()).toBe('deep\n')
})

test('O8 the Markdown of a hidden page is like that of a missing one', async () => {
  const site = await startAccessSite(ACCESS.nobody)
  const paths = [
    '/2.0/index.html.md',
    '/stable/index.html.md',
    '/a%20b.html.md',
    '/a%20b.md',
    '/2.0/',
    '/2.0/x.md',
  ]
  for (const path of ['/2.0/index.html.md', '/a%20b.md'])
    expect((await site.as('ann', `/repos/${HIDDEN}${path}`)).status).toBe(200)
  for (const who of ['bob', 'visitor'] as const)
    for (const path of paths)
      for (const method of ['GET', 'HEAD']) {
        const [hidden, missing] = await Promise.all(
          [HIDDEN, MISSING].map(async (repo) =>
            seen(await site.as(who, `/repos/${repo}${path}`, { method, headers: MARKDOWN })),
          ),
        )
        expect([who, path, renamed(hidden)]).toEqual([who, path, missing])
        expect(hidden).toMatchObject({ status: who === 'bob' ? 404 : 302 })
      }
  for (const path of ['/repos/open/index.html.md', '/repos/open/'])
    expect(await (await site.as('visitor', path, { headers: MARKDOWN })).text()).toBe('open page\n')
})

test('Markdown counts as a read of its page', async () => {
  const dir = tempDir()
  const content = await startContent(FILES, { dir, settings: { reads: { file: 'reads.jsonl' } } })
  for (const path of [
    '/repos/guide/stable/index.html.md',
    '/repos/guide/2.0/both.html.md',
    '/repos/guide/2.0/both.md',
  ])
    await content.ask(path)
  await content.ask('/repos/guide/2.0/deep/', { headers: MARKDOWN })
  await content.running.stop()
  const records: unknown[] = []
  for await (const { path, version, status } of findReads(join(dir, 'reads.jsonl'), {}))
    records.push([path, version, status])
  expect(records).toEqual([
    ['/stable/index.html', '2.0', 200],
    ['/2.0/both.html.md', '2.0', 200],
    ['/2.0/both', '2.0', 200],
    ['/2.0/deep/', '2.0', 200],
  ])
})
