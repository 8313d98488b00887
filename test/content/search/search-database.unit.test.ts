import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { text as textOf } from 'node:stream/consumers'
import { fc } from '../../support/fast-check.ts'
import { onTestFinished, expect, test } from 'vitest'
import { SearchDatabase } from '../../../src/content/search/search-database.ts'
import { runSearchTask } from '../../../src/content/search/search-task.ts'
import { formatIndex, type IndexedPage } from '../../../src/content/search/search-index.ts'
import { tempDir } from '../../support/temp-dir.ts'

const MAX_BYTES = 1_000_000

function openDatabase(file = join(tempDir(), 'search.db')) {
  const database = SearchDatabase.open(file, MAX_BYTES)
  onTestFinished(() => database.close())
  let number = 0
  const put = async (key: string, pages: readonly Partial<IndexedPage>[], etag = `"${++number}"`) => {
    const from = join(tempDir(), 'index')
    const whole = pages.map((page, at) => ({
      path: `${at}.html`,
      title: '',
      text: '',
      sections: [],
      ...page,
    }))
    writeFileSync(from, await textOf(formatIndex(whole)))
    return database.replace(key, etag, from)
  }
  const find = (words: string, keys: readonly string[] = ['a'], limit = 20, offset = 0) =>
    database.find(keys, words, limit, offset)
  const paths = (words: string) => find(words).pages.map(({ path }) => path)
  return { database, put, find, paths }
}

test('pages match all words as prefixes; those with a match in the title come first', async () => {
  const { put, paths } = openDatabase()
  await put('a', [
    { path: 'text.html', text: 'how to deploy the naïve Größe with kubernetes' },
    { path: 'title.html', title: 'Deploy', text: 'everything' },
    { path: 'none.html', text: 'nothing' },
  ])
  expect(paths('deploy')).toEqual(['title.html', 'text.html'])
  expect(paths('DEPLOY kubern')).toEqual(['text.html'])
  expect(paths('naive')).toEqual(['text.html'])
  expect(paths('deploy nothing')).toEqual([])
})

test('of short words, only the last one is a prefix, so that "a" does not mark every word with that letter', async () => {
  const { put, find, paths } = openDatabase()
  await put('a', [
    { path: 'both.html', text: 'suspend a machine and any other' },
    { path: 'other.html', text: 'suspend any machine and another' },
  ])
  expect(paths('suspend a machine')).toEqual(['both.html'])
  const [page] = find('suspend a machine').pages
  const { text = '', marks = [] } = page?.excerpt ?? {}
  expect(marks.map(([begin, end]) => text.slice(begin, end))).toEqual(['suspend', 'a', 'machine'])
  expect(paths('machine an').toSorted()).toEqual(['both.html', 'other.html'])
})

test('a word that no page contains finds pages with the most similar word', async () => {
  const { put, paths } = openDatabase()
  await put('a', [{ text: 'its dependencies' }, { text: 'independent' }])
  expect(paths('dependancies')).toEqual(['0.html'])
  expect(paths('its dpendencies')).toEqual(['0.html'])
  expect(paths('zzzzz')).toEqual([])
})

test('all hits are counted, and each is on exactly one result page', async () => {
  const { put, find } = openDatabase()
  await put(
    'a',
    Array.from({ length: 250 }, (_, i) => ({ title: `Page ${i}`, text: 'same' })),
  )
  const seen: string[] = []
  for (let offset = 0; offset < 250; offset += 100) {
    const { pages, total } = find('same', ['a'], 100, offset)
    expect(total).toBe(250)
    seen.push(...pages.map(({ path }) => path))
  }
  expect(new Set(seen).size).toBe(250)
  expect(find('same', ['a'], 100, 250).pages).toEqual([])
})

test('only the requested indexes are searched, and missing ones are named', async () => {
  const { put, find } = openDatabase()
  await put('a', [{ text: 'secret' }])
  await put('b', [{ text: 'secret' }, { text: 'secret' }])
  expect(find('secret', ['a', 'c'])).toMatchObject({ total: 1, missing: ['c'], pages: [{ key: 'a' }] })
  expect(find('secret', ['b', 'a']).total).toBe(3)
  expect(find('secret', []).total).toBe(0)
})

test('a hit links to the section that contains the match', async () => {
  const { put, find } = openDatabase()
  const sections = [
    { at: 0, anchor: 'first' },
    { at: 10, anchor: 'second' },
  ]
  await put('a', [{ title: 'Zebra', text: 'one two   three four', sections }])
  const anchor = (words: string) => find(words).pages[0]?.anchor
  expect([anchor('two'), anchor('four'), anchor('Zebra')]).toEqual(['first', 'second', undefined])
})

test('a changed index replaces the previous one, and one with the same ETag is not read', async () => {
  const { database, put, find } = openDatabase()
  await put('a', [{ text: 'old' }, { text: 'older' }], '"1"')
  await put('a', [{ text: 'new' }], '"1"')
  expect([find('old').total, find('new').total]).toEqual([2, 0])
  await put('a', [{ text: 'new' }], '"2"')
  expect([find('old').total, find('new').total]).toEqual([0, 1])
  database.forget(['a'])
  expect(find('new')).toMatchObject({ total: 0, missing: ['a'] })
  expect(database.sources()).toEqual([])
})

test.each([
  ['{"format":1,"index":{}}', 'old_format'],
  [`{"format":1,"index":{"x":"${'x'.repeat(5_000_000)}"}}`, 'old_format'],
  ['', 'unreadable'],
  ['{"format":2,"pages":[\n', 'unreadable'],
  ['{"format":2,"pages":[\n{"path":"a","title":"t"}\n]}\n', 'unreadable'],
  ['{"format":2,"pages":[\n{"path":"../a","title":"","text":"","sections":[]}\n]}\n', 'unreadable'],
  ['{"format":2,"pages":[\n]}\n]}\n', 'unreadable'],
  ['x'.repeat(5_000_000), 'unreadable'],
])('the index %.40j is refused with a reason', async (content, problem) => {
  const { database, put, find } = openDatabase()
  await put('b', [{ text: 'other' }])
  const from = join(tempDir(), 'index')
  writeFileSync(from, content)
  expect(await database.replace('a', '"1"', from)).toMatchObject({ problem })
  expect(database.sources()).toContainEqual({ key: 'a', etag: '"1"', problem })
  expect(find('other', ['a', 'b']).total).toBe(1)
})

test('any query is plain words, even if they are operators of the database', async () => {
  const { put, find } = openDatabase()
  await put('a', [{ text: 'alpha OR beta NEAR gamma title' }])
  const piece = fc.constantFrom(
    '"',
    '*',
    'OR',
    'NOT',
    'NEAR(',
    ')',
    'title:',
    '-',
    '^',
    '+',
    '\0',
    'alpha',
    "'",
    '{',
    '日本',
  )
  fc.assert(
    fc.property(fc.array(piece, { maxLength: 8 }), fc.string(), (pieces, other) => {
      expect(() => find(pieces.join(' ') + other)).not.toThrow()
    }),
  )
  expect(find('"alpha" OR').total).toBe(1)
  expect(find('beta NOT alpha').total).toBe(0)
})

test('a damaged file is rebuilt', async () => {
  const file = join(tempDir(), 'search.db')
  writeFileSync(file, 'no database at all '.repeat(500))
  expect(await runSearchTask({ do: 'list', file, maxBytes: MAX_BYTES })).toEqual([])
  expect(
    await runSearchTask({
      do: 'find',
      file,
      maxBytes: MAX_BYTES,
      keys: ['a'],
      query: 'x',
      limit: 1,
      offset: 0,
    }),
  ).toEqual({
    pages: [],
    total: 0,
    missing: ['a'],
  })
})
