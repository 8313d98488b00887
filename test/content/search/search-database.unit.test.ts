import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { text as textOf } from 'node:stream/consumers'
import { fc } from '../../support/fast-check.ts'
import { onTestFinished, expect, test } from 'vitest'
import { foldWord } from '../../../src/content/search/fold.ts'
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

test('a hit in a text without spaces links to the section that contains the match', async () => {
  const { put, find } = openDatabase()
  const parts = ['如何安装。', 'Größe des ﷺ Straße ', 'ｶﾞｲﾄﾞ設定。', '编译器环境', '变量 naïve ', 'end']
  const sections = parts.map((part, at) => ({ at: parts.slice(0, at).join('').length, anchor: part }))
  await put('a', [{ text: parts.join(''), sections }])
  for (const [number, word] of ['安装', 'grosse', 'ガイド', '环境', 'naive', 'end'].entries())
    expect(find(word).pages[0]?.anchor).toBe(parts[number])
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

const CHINESE = '如何在本机安装编译器并设置环境变量。'
const JAPANESE = '設定ファイルを保存してから再起動してください。'
const THAI = 'วิธีติดตั้งโปรแกรมบนเครื่อง'

test.each([
  ['Chinese', CHINESE, '编译器', '编译器'],
  ['Chinese', CHINESE, '安装', '安装'],
  ['Chinese', CHINESE, '环', '环'],
  ['Chinese and digits', '使用ＡＰＩ密钥v2登录', 'api', 'ＡＰＩ'],
  ['Chinese and digits', '使用ＡＰＩ密钥v2登录', '密钥v', '密钥v2'],
  ['Japanese', JAPANESE, '再起動', '再起動'],
  ['Japanese', JAPANESE, 'ﾌｧｲﾙ', 'ファイル'],
  ['Thai', THAI, 'โปรแกรม', 'โปรแกรม'],
  ['Thai', THAI, 'ติดตั้ง', 'ติดตั้ง'],
  ['Lao', 'ພາສາລາວເປັນພາສາທາງການ', 'ລາວ', 'ລາວ'],
  ['Khmer', 'ភាសាខ្មែរជាភាសាផ្លូវការ', 'ខ្មែរ', 'ខ្មែរ'],
  ['Burmese', 'မြန်မာဘာသာစကားသည်', 'စကား', 'စကား'],
  ['Korean', '컴파일러설치방법을 설명합니다.', '설치', '설치'],
  ['Korean', '컴파일러설치방법을'.normalize('NFD'), '설치', '설치'.normalize('NFD')],
  ['Tibetan', 'བོད་ཀྱི་སྐད་ཡིག', 'སྐད', 'སྐད'],
  ['Hindi', 'यह हिन्दी में है', 'हिन्दी', 'हिन्दी'],
  ['Tamil', 'இது தமிழ் மொழி', 'தமிழ்', 'தமிழ்'],
  ['Hebrew', 'אמר שָׁלוֹם לכולם', 'שלום', 'שָׁלוֹם'],
  ['Arabic', 'قال مَرْحَبًا للجميع', 'مرحبا', 'مَرْحَبًا'],
  ['Persian', 'من می\u200cخواهم', 'میخواهم', 'می\u200cخواهم'],
  ['Greek', 'στην Ελλάδα', 'ελλαδα', 'Ελλάδα'],
  ['Russian', 'Зелёная Ёлка', 'елка', 'Ёлка'],
  ['German', 'die Hauptstraße dort', 'HAUPTSTRASSE', 'Hauptstraße'],
  ['Polish', 'miasto Łódź', 'lodz', 'Łódź'],
  ['Vietnamese', 'tiếng Việt', 'viet', 'Việt'],
  ['Turkish', 'İstanbul ışık', 'isik', 'ışık'],
  ['soft hyphens', 'Donau\u00addampf\u00adschiff', 'donaudampfschiff', 'Donau\u00addampf\u00adschiff'],
])('in %s, the text "%s" is found by the word "%s", which alone is marked', async (_, text, word, shown) => {
  const { put, find } = openDatabase()
  await put('a', [{ text: `${text} ${'other '.repeat(5)}` }, { text: 'none of it' }])
  const { total, pages } = find(word)
  expect(total).toBe(1)
  const { excerpt } = pages[0] ?? {}
  expect(excerpt?.text).toBe(`${text} ${'other '.repeat(5)}`.trimEnd())
  expect(excerpt?.marks.map(([begin, end]) => excerpt.text.slice(begin, end))).toEqual([shown])
})

test.each([
  ['使用数据。库存管理', '数据库', ['数据', '库存', '数据库存', '数据，库存']],
  ['数据 库存', '数据库', ['数据', '库存', '数据库存']],
  ['数据. API 库存', '数据库', ['数据', 'api', '库存']],
  ['한국 어린이', '한국어', ['한국', '어린이', '한국 어린이']],
  ['漢字「かな」', '字か', ['漢字', 'かな']],
  ['ดี。มาก', 'ดีมา', ['ดี', 'มาก']],
  ['ガイド・ブック', 'ドブ', ['ガイド', 'ブック']],
])('in "%s", "%s" is not found across a separator', async (text, across, within) => {
  const { put, find } = openDatabase()
  await put('a', [{ text }])
  expect(find(across).total).toBe(0)
  for (const word of within) {
    const { excerpt } = find(word).pages[0] ?? {}
    expect([excerpt?.text, (excerpt?.marks.length ?? 0) > 0]).toEqual([text, true])
  }
})

test('a space between a word of a script with spaces and one of a script without makes no difference', async () => {
  const { put, paths } = openDatabase()
  await put('a', [
    { path: 'apart.html', text: '使用 API 密钥' },
    { path: 'together.html', text: '使用API密钥' },
    { path: 'invisible.html', text: '使\u200b用api密\u00ad钥' },
  ])
  expect(paths('使用api密钥').length).toBe(3)
})

test.each([
  ['コンピュータを使う', 'コンピューター', 'コンピュータ'],
  ['コンピューターを使う', 'コンピュータ', 'コンピューター'],
  ['新しいフォルダ', 'フォルダー', 'フォルダ'],
  ['新しいフォルダー', 'ﾌｫﾙﾀﾞ', 'フォルダー'],
  ['新しいフォルダー', 'フォルダー', 'フォルダー'],
  ['コンピューターウイルス', 'コンピュータ', 'コンピュータ'],
  ['コピーする', 'コピー', 'コピー'],
])('in "%s", "%s" is found with or without a final long mark', async (text, word, shown) => {
  const { put, find } = openDatabase()
  await put('a', [{ text }])
  const { excerpt } = find(word).pages[0] ?? {}
  expect(excerpt?.text).toBe(text)
  expect(excerpt?.marks.map(([begin, end]) => excerpt.text.slice(begin, end))).toEqual([shown])
})

test('words that are written together find pages where they are apart, after pages where they are together', async () => {
  const { put, paths } = openDatabase()
  await put('a', [{ path: 'apart.html', text: CHINESE }])
  expect(paths('设置编译器')).toEqual(['apart.html'])
  await put('a', [
    { path: 'apart.html', text: CHINESE },
    { path: 'together.html', text: '设置编译器' },
  ])
  expect(paths('设置编译器')).toEqual(['together.html'])
  expect(paths('设置手机')).toEqual([])
  expect(paths('设置的环境')).toEqual(['apart.html'])
  await put('a', [{ text: '安装方法。在线文档。' }])
  expect(paths('安装文档').length).toBe(1)
})

test('a title is shown as it was written, and found as people type it', async () => {
  const { put, find } = openDatabase()
  await put('a', [{ title: '如何安装ＡＰＩ', text: '' }])
  expect(find('安装api').pages).toMatchObject([{ title: '如何安装ＡＰＩ' }])
})

/** Letters that Unicode derives from two words, and those whose accents SQLite does not remove. */
const EXCEPTIONS = ['ŉ', 'ͺ', 'Ǡ', 'ǡ']

test(
  'every Latin, Greek and Cyrillic letter is found in either case, and with accents omitted',
  { tags: ['long'] },
  async () => {
    const { put, find } = openDatabase()
    const letters = [0xc0, 0x250, 0x370, 0x530, 0x1e00, 0x1f00]
      .flatMap((first, at, all) =>
        at % 2 === 1 ? [] : Array.from({ length: (all[at + 1] ?? 0) - first }, (_, i) => first + i),
      )
      .map((code) => String.fromCodePoint(code))
      .filter((letter) => /\p{L}/u.test(letter) && !EXCEPTIONS.includes(letter))
    expect(letters.length).toBeGreaterThan(500)
    await put(
      'a',
      letters.map((letter, at) => ({ path: `${at}.html`, text: `q${letter}q q${letter.normalize('NFD')}q` })),
    )
    const unfound = letters.filter((letter, at) => {
      const found = find(`q${foldWord(letter)}q`, ['a'], 100).pages.find(({ path }) => path === `${at}.html`)
      return found?.excerpt.marks.length !== 2
    })
    expect(unfound).toEqual([])
  },
)
