import { text as textOf } from 'node:stream/consumers'
import { expect, test } from 'vitest'
import { formatIndex, type IndexedPage } from '../../../../src/content/search/search-index.ts'
import { startContent, type TestContent } from '../../../support/content/content-server.ts'
import { FaultyStore } from '../../../support/content/faulty-store.ts'
import { tempDir } from '../../../support/temp-dir.ts'

interface Answer {
  readonly hits: readonly {
    repo: string
    version?: string
    url: string
    title: string
    excerpt: string
    marks: [number, number][]
  }[]
  readonly total: number
  readonly next_offset?: number
  readonly complete: boolean
  readonly unsearched: readonly unknown[]
}

function indexOf(pages: readonly Partial<IndexedPage>[]): Promise<string> {
  return textOf(
    formatIndex(
      pages.map((page, at) => ({ path: `${at}.html`, title: '', text: '', sections: [], ...page })),
    ),
  )
}

async function search({ ask }: Pick<TestContent, 'ask'>, query: Record<string, string>): Promise<Answer> {
  const answer = await ask(`/_api/search?${new URLSearchParams(query).toString()}`)
  expect(answer.status).toBe(200)
  return (await answer.json()) as Answer
}

const META = JSON.stringify({ versions: ['2.0', '1.0'], latest: '2.0' })

test(
  'indexes larger than the search’s memory are searched, and each is read once, even across a restart',
  { tags: ['long'] },
  async () => {
    const dir = tempDir()
    const words = Array.from({ length: 150 }, (_, i) => `word${i}`).join(' ')
    const index = await indexOf(Array.from({ length: 600 }, (_, i) => ({ text: `deploy ${i} ${words}` })))
    const files = Object.fromEntries(
      ['a', 'b', 'c', 'd'].map((repo) => [`repos/${repo}/_search.json`, index]),
    )
    let store: FaultyStore | undefined
    const begin = (given: typeof files) =>
      startContent(given, {
        dir,
        settings: { search: { max_bytes: '1MiB' } },
        store: (inner) => (store = new FaultyStore(inner)),
      })
    const read = () => store?.opened.filter((key) => key.endsWith('_search.json')).length
    const first = await begin(files)
    expect(await search(first, { q: 'deploy' })).toMatchObject({
      total: 2_400,
      complete: true,
      next_offset: 20,
    })
    expect(await search(first, { q: 'deploy 599' })).toMatchObject({ total: 4 })
    expect(read()).toBe(4)
    await first.running.stop()
    const second = await begin({})
    expect(await search(second, { q: 'deploy' })).toMatchObject({ total: 2_400, complete: true })
    expect(read()).toBe(4)
  },
)

test(
  'a repository that was not searched is named with its reason in the response, on the page and in the log',
  { tags: ['long'] },
  async () => {
    const content = await startContent({
      'repos/whole/_search.json': await indexOf([{ text: 'alpha' }]),
      'repos/old/_search.json': '{"format":1,"index":{}}',
      'repos/damaged/_search.json': '{"format":2,"pages":[\n',
      'repos/plain/index.html': 'no index',
      'repos/versioned/_meta.json': META,
    })
    const { hits, complete, unsearched } = await search(content, { q: 'alpha' })
    expect([hits.map(({ repo }) => repo), complete]).toEqual([['whole'], false])
    expect(unsearched).toEqual(
      expect.arrayContaining([
        { repo: 'old', reason: 'old_format' },
        { repo: 'damaged', reason: 'unreadable' },
        { repo: 'plain', reason: 'no_index' },
        { repo: 'versioned', version: '2.0', reason: 'no_index' },
      ]),
    )
    expect(await (await content.ask('/?q=alpha')).text()).toMatch(
      /Not searched: .*damaged \(has a damaged.* and 1 more\./,
    )
    const logged = content.log().filter(({ msg }) => msg === 'a search index cannot be searched')
    expect(logged.map(({ key, reason }) => [key, reason])).toContainEqual([
      'repos/old/_search.json',
      'old_format',
    ])
    // Logged once, not for each search.
    await search(content, { q: 'alpha' })
    expect(content.log().filter(({ msg }) => msg === 'a search index cannot be searched')).toHaveLength(4)
  },
)

test('F22 while the store is down the known indexes are searched, and the others are named', async () => {
  const time = { nowMs: 0 }
  let store: FaultyStore | undefined
  const content = await startContent(
    {
      'repos/a/_meta.json': META,
      'repos/a/2.0/_search.json': await indexOf([{ text: 'alpha' }]),
      'repos/a/1.0/_search.json': await indexOf([{ text: 'alpha' }]),
    },
    {
      clock: { nowMs: () => time.nowMs, wallMs: Date.now },
      store: (inner) => (store = new FaultyStore(inner)),
    },
  )
  expect((await search(content, { q: 'alpha' })).total).toBe(1)
  time.nowMs = 600_000
  if (store !== undefined) store.fails = 'down'
  expect(await search(content, { q: 'alpha' })).toMatchObject({ total: 1, complete: true })
  expect(await search(content, { q: 'alpha', version: '1.0' })).toMatchObject({
    total: 0,
    unsearched: [{ repo: 'a', version: '1.0', reason: 'unavailable' }],
  })
  if (store !== undefined) store.fails = 'no'
  time.nowMs += 5_001
  expect(await search(content, { q: 'alpha', version: '1.0' })).toMatchObject({ total: 1, complete: true })
})

test('a search can be limited to a repository and a version, and continues from page to page', async () => {
  const content = await startContent({
    'repos/a/_meta.json': META,
    'repos/a/2.0/_search.json': await indexOf(Array.from({ length: 45 }, () => ({ text: 'alpha' }))),
    'repos/a/1.0/_search.json': await indexOf([{ text: 'alpha' }]),
    'repos/b/_search.json': await indexOf([{ text: 'alpha' }]),
  })
  expect((await search(content, { q: 'alpha' })).total).toBe(46)
  expect((await search(content, { q: 'alpha', repo: 'b' })).total).toBe(1)
  expect(await search(content, { q: 'alpha', version: '1.0' })).toMatchObject({
    total: 1,
    hits: [{ repo: 'a', version: '1.0', url: '/repos/a/1.0/0.html' }],
  })
  expect((await search(content, { q: 'alpha', repo: 'none' })).total).toBe(0)
  const seen = new Set<string>()
  for (let offset: number | undefined = 0; offset !== undefined;) {
    const { hits, next_offset: next } = await search(content, { q: 'alpha', offset: String(offset) })
    for (const { url } of hits) seen.add(url)
    offset = next
  }
  expect(seen.size).toBe(46)
  const page = await (await content.ask('/?q=alpha&repo=a&offset=20')).text()
  expect(page).toContain('21 to 40 of 45 pages')
  expect(page).toContain('href="/?q=alpha&amp;repo=a&amp;offset=40"')
  for (const query of ['limit=0', 'limit=101', 'offset=-1', 'offset=10001', 'q=a&q=b', 'repo=a&repo=b'])
    expect([query, (await content.ask(`/_api/search?${query}`)).status]).toEqual([query, 400])
})

test('an excerpt is escaped text around the marked matches', async () => {
  const sections = [
    { at: 0, anchor: 'top' },
    { at: 900, anchor: 'a b"<' },
  ]
  const hostile = `${'before '.repeat(150)}<img src=x onerror=alert(1)> alpha </p><script>`
  const content = await startContent({
    'repos/a/_search.json': await indexOf([{ title: '<script>alert(2)</script>', text: hostile, sections }]),
  })
  const { hits } = await search(content, { q: 'alpha' })
  const [hit] = hits
  expect(hit?.url).toBe('/repos/a/0.html#a%20b%22%3C')
  expect(hit?.marks.map(([begin, end]) => hit.excerpt.slice(begin, end))).toEqual(['alpha'])
  const page = await (await content.ask('/?q=alpha')).text()
  expect(page).toContain('&lt;img src=x onerror=alert(1)&gt; <mark>alpha</mark> &lt;/p&gt;')
  expect(page).not.toMatch(/<script>|<img/)
})

test('an unpublished repository is not found, and its index is deleted', async () => {
  const content = await startContent({
    'repos/a/_search.json': await indexOf([{ text: 'alpha' }]),
    'repos/b/_search.json': await indexOf([{ text: 'alpha' }]),
  })
  expect((await search(content, { q: 'alpha' })).total).toBe(2)
  await content.store.remove('repos/b/_search.json')
  await content.ask('/_admin/cache/purge', { method: 'POST' })
  expect(await search(content, { q: 'alpha' })).toMatchObject({ total: 1, complete: true })
})

test('a search hides the repositories that do not match, and counts all hits on one page without a range', async () => {
  const { ask } = await startContent({
    'repos/guide/_search.json': await indexOf([{ title: 'Install', text: 'how to install' }]),
    'repos/other/index.html': 'no index',
  })
  const shown = async (words: string) => {
    const page = await (await ask(`/?q=${words}`)).text()
    return {
      found: /id="found"[^>]*>\s*([^<]*?)\s*</.exec(page)?.[1],
      count: /id="count"[^>]*>([^<]*)</.exec(page)?.[1],
      repos: [...page.matchAll(/<li class="card"\s*>\s*<h2><a href="[^"]*">([^<]*)/g)].map(
        ([, name]) => name,
      ),
    }
  }
  expect(await shown('install')).toEqual({ found: '1 page', count: '0 of 2 repositories', repos: [] })
  expect(await shown('GUIDE')).toMatchObject({ count: '1 of 2 repositories', repos: ['guide'] })
  expect(await shown('')).toMatchObject({ count: '2 repositories', repos: ['guide', 'other'] })
})
