import { mkdirSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { expect, test } from 'vitest'
import { publish } from '../../../src/content/publish/publish.ts'
import { FsStore } from '../../../src/content/store/fs-store.ts'
import { expectRulesToHold, redirectSites } from '../../support/content/redirect-sites.ts'
import { fc } from '../../support/fast-check.ts'
import { tempDir } from '../../support/temp-dir.ts'

const PAGE = { 'index.html': 'start' }
type Site = Readonly<Record<string, string>>

/** Publishes rules with pages; returns the hints at lines without an effect. */
async function check(
  rules: string | Buffer,
  files: Site = PAGE,
  more: { version?: string; store?: FsStore } = {},
) {
  const folder = tempDir()
  for (const [path, content] of Object.entries({ ...files, _redirects: rules })) {
    mkdirSync(dirname(join(folder, path)), { recursive: true })
    writeFileSync(join(folder, path), content)
  }
  const { store = new FsStore(tempDir()), version } = more
  const publicUrl = 'https://docs.example'
  const request = { folder, repo: 'guide', version, deletes: false }
  const { idleRedirects } = await publish(request, { store, nowMs: 0, publicUrl })
  return idleRedirects
}

const ENDLESS = 'its redirects never end'

test.each([
  ['/guide /guide/ 301', `line 1: ${ENDLESS} (line 1 → line 1)`],
  ['/guide/ /guide', ENDLESS],
  ['/a /b\n/b /a', `line 1: ${ENDLESS} (line 1 → line 2 → line 1)`],
  ['/a /b\n/b /c\n/c /b', `line 3: ${ENDLESS}`],
  ['/v/* /v/:splat/ 301', ENDLESS],
  ['/up/* /up/x/:splat', ENDLESS],
  ['/n/:x /n/:x', ENDLESS],
  ['/p/:x/:y /p/:y/:x', ENDLESS],
  ['/* /docs/:splat', ENDLESS],
  ['/old/:name /old/:name.html', ENDLESS],
  ['/enc /%65nc', ENDLESS],
  ['/q /q?x=1', ENDLESS],
  ['/q /q#top', ENDLESS],
  ['/caf\u00e9 /cafe\u0301', ENDLESS],
  ['/s/* /t/:splat\n/t/:x /s/:x', ENDLESS],
  ['/a https://docs.example/repos/guide/a', ENDLESS],
  ['/a https://docs.example/guide/a?x', ENDLESS],
  [
    Array.from({ length: 30 }, (_, at) => `/${at} /${at + 1}`).join('\n'),
    'too many redirects follow (line 1 →',
  ],
  [
    '/a /index.html\n/a /',
    'line 2: never matches, because the rules before match the same paths, such as line 1',
  ],
  ['/* /\n/a /', 'line 2: never matches'],
  ['/a /\n/a/:x /\n/a/:x/* /\n/a/* /', 'line 4: never matches'],
  ['/caf\u00e9 /\n/cafe\u0301 /index.html', 'line 2: never matches'],
])('rules %j are refused: %s', async (rules, message) => {
  await expect(check(rules)).rejects.toThrow(message)
})

test.each([
  '/* /:splat',
  '/guide/* /guide/:splat 301',
  '/docs/:v/* /docs/:v/:splat?x=1',
  '/blog/:slug/ /blog/:slug 301',
  '/x/* /y/:splat\n/y/* /x/:splat',
])('rules %j are refused, also if pages match', async (rules) => {
  const files = ['guide/logo.png', 'docs/1/a.css', 'blog/post.html', 'x/a.css', 'y/a.css', 'data']
  const pages = Object.fromEntries(files.map((path) => [path, 'x']))
  await expect(check(rules)).rejects.toThrow(ENDLESS)
  await expect(check(rules, { ...PAGE, ...pages })).rejects.toThrow(ENDLESS)
})

test('rules that are not in UTF-8 are refused with the first such line', async () => {
  expect(await check(Buffer.from('# caf\u00e9\n/a /', 'latin1'))).toEqual([])
  for (const rules of ['/a /b\n/b /caf\u00e9.html', '/a /\n/\u00e4/* /page.html\n'])
    await expect(check(Buffer.from(rules, 'latin1'))).rejects.toThrow('line 2: is not in UTF-8')
  await expect(check(Buffer.from('\ufeff/a /b', 'utf16le'))).rejects.toThrow('line 1: is not in UTF-8')
})

test.each<[string, Site]>([
  ['/* /docs/:splat', { 'docs/page.html': 'x' }],
  ['/* /docs/:splat/', { 'docs/page/index.html': 'x' }],
  ['/a/* /b/:splat\n/b/* /a/:splat', { 'a/x.html': 'x', 'b/y/index.html': 'y' }],
  ['/blog/* /news/:splat 200', { 'news/post/index.html': 'x' }],
  ['/s/* /dir 200', { 'dir/index.html': 'x' }],
  ['/s /file/ 200', { 'file.html': 'x' }],
  ['/d/:y/:m/:d /posts/:y-:m-:d.html 200', { 'posts/2026-11-28.html': 'x' }],
  ['/wiki/Help:Start /help?to=Help:Start', PAGE],
  ['/app/* /index.html 200', PAGE],
  ['/* / 200', PAGE],
  ['/en/:page /:page 200', { 'page.html': 'x' }],
  ['/gone/* /never-there', PAGE],
  ['/a /\n/a/:x /\n/a/* /', PAGE],
  ['/x https://other.example/repos/guide/x', PAGE],
])('rules %j of a site that has the pages are accepted', async (rules, files) => {
  expect(await check(rules, files)).toEqual([])
})

test.each<[string, Site, string]>([
  ['/page /', { 'page.html': 'x' }, 'a page is published at "/repos/guide/page"'],
  ['/page /', { 'page/index.html': 'x' }, 'a page is published at "/repos/guide/page"'],
  ['/page.html /other.html', { 'page.html': 'x' }, 'a page is published at "/repos/guide/page.html"'],
  ['/index.html /', PAGE, 'a page is published at "/repos/guide/index.html"'],
  ['/pic.png /x', { 'pic.png': 'x' }, 'a page is published at "/repos/guide/pic.png"'],
  ['/llms.txt /x', PAGE, 'a page is published at "/repos/guide/llms.txt"'],
  ['/x-:id /page.html?id=:id', PAGE, '":id" is text'],
  ['/v:major.html /v/:major', PAGE, '":major" is text'],
  ['/b /page.html?x=:splat', PAGE, '":splat" is text'],
  ['/b /new:splat', PAGE, '":splat" is text'],
  ['/a/* /b/*', PAGE, '"*" is text'],
  ['/self /self 200', PAGE, 'has no effect, because no page is published at "/self"'],
  ['/s/* /t/:splat 200', PAGE, 'has no effect, because no page is published at "/t/:splat"'],
  ['/a /b/:name', PAGE, '":name" is text'],
  ['/a /repos/guide/b', PAGE, 'leave out "/repos/guide"'],
  ['/repos/guide/a /b', PAGE, 'leave out "/repos/guide"'],
])('rule %j is listed, because it has no effect or looks wrong', async (rules, files, message) => {
  expect(await check(`# first\n${rules}`, files)).toEqual([
    { line: 2, message: expect.stringContaining(message) as string },
  ])
})

test('a repeated rule is listed, also with a slash at the end', async () => {
  for (const again of ['/a', '/a/', '/%61'])
    expect(await check(`/a /index.html\n${again} /index.html`)).toEqual([
      { line: 2, message: 'is not necessary, because line 1 does the same' },
    ])
})

test('a rule whose target begins with the name of a version is not judged by the pages of the folder', async () => {
  const store = new FsStore(tempDir())
  const page = { 'docs/a.html': 'a', 'b.html': 'b' }
  for (const version of ['1.0', '2.0']) await check('# none', page, { store, version })
  for (const rules of ['/:version/* /:version/docs/:splat 301', '/docs/:version/* /:version/:splat 200'])
    expect(await check(rules, { 'a.txt': 'a' }, { store })).toEqual([])
})

test('rules of a repository are checked with its versions, their rules and aliases', async () => {
  const store = new FsStore(tempDir())
  expect(await check('/old /', PAGE, { store, version: '1.0' })).toEqual([])
  expect(await check('/* /1.0/:splat\n', { 'a.txt': 'a' }, { store })).toEqual([])
  await expect(check('/1.0 /', { 'a.txt': 'a' }, { store })).resolves.toEqual([
    { line: 1, message: expect.stringContaining('a page is published at "/repos/guide/1.0"') as string },
  ])
  expect(await check('/1.0/old /\n/latest/x /', { 'a.txt': 'a' }, { store })).toEqual([
    {
      line: 1,
      message: expect.stringContaining('line 1 of repos/guide/1.0/_redirects matches') as string,
    },
    { line: 2, message: expect.stringContaining('"/repos/guide/latest/x" is below an alias') as string },
  ])
  const other = new FsStore(tempDir())
  await check('/:x/:y /', { 'b.html': 'b' }, { store: other, version: '1.0' })
  expect(await check('/1.0/b/* /', { 'a.txt': 'a' }, { store: other })).toEqual([])
  await expect(check('/1.0/x /latest/x', { 'a.txt': 'a' }, { store })).rejects.toThrow(ENDLESS)
})

test(
  'an accepted rule answers a request, and no client gets two redirects of one rule',
  { tags: ['long'] },
  async () => {
    const size = { rules: 4, segments: 1 }
    const property = fc.asyncProperty(redirectSites(size), (site) => expectRulesToHold(site, size))
    await fc.assert(property, { numRuns: 8 })
  },
)
