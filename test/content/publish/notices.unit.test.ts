import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { publish, type PublishDeps } from '../../../src/content/publish/publish.ts'
import { FsStore } from '../../../src/content/store/fs-store.ts'
import { tempDir } from '../../support/temp-dir.ts'

function run(
  files: Readonly<Record<string, string>>,
  {
    store = new FsStore(tempDir()),
    hasHosts = false,
    ...more
  }: Partial<PublishDeps> & { version?: string } = {},
) {
  const folder = tempDir()
  for (const [name, content] of Object.entries(files)) writeFileSync(join(folder, name), content)
  return publish({ folder, repo: 'guide', deletes: false, ...more }, { store, nowMs: 0, hasHosts })
}

test('a publish with invalid redirects fails with the numbers of the lines', async () => {
  const lines = ['# ok', '/a /b', 'x', '/a /b 999', ...Array.from({ length: 5 }, () => 'y')]
  await expect(run({ 'index.html': 'x', _redirects: lines.join('\n') })).rejects.toMatchObject({
    code: 'PUBLISH_INVALID',
    message: expect.stringMatching(/^_redirects is not valid: line 3: .*; line 4: .*; 2 more$/) as string,
  })
  await expect(run({ _redirects: '#'.repeat(200_000) })).rejects.toThrow('more than 128 KiB')
  expect(await run({ _redirects: '/a /b\n/c /d' })).toMatchObject({ redirects: 2 })
})

test('pages with links that begin with a slash are reported with the first of them', async () => {
  const result = await run({
    'index.html': '<a href="a.html">a</a><img src="/logo.png"><a href="/b">b</a>',
    'script.html': '<script src="/app.js"></script>',
    'fine.html': '<a href="/">home</a><a href="//ex.example/">x</a><a href="https://ex.example/">y</a>',
    'server.html': '<script src="/_versions.js"></script><a href="/repos/other/">other</a>',
  })
  expect(result.rootLinks).toEqual([
    { path: 'index.html', link: '/logo.png' },
    { path: 'script.html', link: '/app.js' },
  ])
})

const ERROR_PAGE = '<link rel="stylesheet" href="/repos/guide/x.css"><a href="/repos/guide/">start</a>'

test('the 404 page of a version that was built for the address of the repository is reported', async () => {
  const store = new FsStore(tempDir())
  const files = { 'index.html': 'x', '404.html': ERROR_PAGE, 'x.css': 'x' }
  const rootLinks = [{ path: '404.html', link: '/repos/guide/x.css' }]
  expect(await run(files, { store, version: '1.0' })).toMatchObject({ rootLinks })
  // Only pages that were sent are checked.
  expect(await run(files, { store, version: '1.0' })).toMatchObject({ rootLinks: [] })
  const rebuilt = ERROR_PAGE.replace('guide/x', 'guide/1.0/x')
  expect(await run({ ...files, '404.html': rebuilt }, { store, version: '1.0' })).toMatchObject({
    rootLinks: [],
  })
  expect(await run({ ...files, '404.html': ERROR_PAGE })).toMatchObject({ rootLinks: [] })
})

test.each([
  ['/repos/guide/', true],
  ['/repos/guide/1.0/page', true],
  ['/repos/guide/latest/page.html?q#x', true],
  ['/repos/guide/1.0/moved', true],
  ['/repos/guide/1.0/d%C3%A9j%C3%A0.html', true],
  ['/repos/guide/1.0/de%CC%81ja%CC%80.html', true],
  ['/repos/guide/1.0/./page.html', true],
  ['/repos/guide/1.0/x/../page.html', true],
  ['/repos/guide/1.0\\page.html', true],
  ['/repos/guide/1.0/pa\nge.html', true],
  ['/guide/1.0/page.html', true],
  ['///other.example/', true],
  ['\\\\other.example/', true],
  [' /repos/guide/1.0/none.html', false],
  ['/guide/1.0/none.html', false],
  ['/repos/guide/1.0/none.html', false],
  ['/repos/guide/2.0/page.html', false],
  ['/repos/guide/page.html', false],
  ['/repos/guide/%ff', false],
  ['/page.html', false],
  ['/1.0/page.html', false],
])('link %s of a version is published: %j', async (link, isPublished) => {
  const files = {
    'index.html': `<a href="${link}">x</a>`,
    'page.html': 'x',
    'd\u00e9j\u00e0.html': 'x',
    _redirects: '/moved /page.html',
  }
  const { rootLinks } = await run(files, { version: '1.0' })
  expect(rootLinks).toEqual(isPublished ? [] : [{ path: 'index.html', link }])
})

test('on separate hosts, links that begin with a slash begin at the repository', async () => {
  const files = {
    'index.html': '<a href="/1.0/page.html">x</a>',
    'page.html': '<a href="/repos/guide/1.0/">x</a>',
  }
  expect(await run(files, { version: '1.0', hasHosts: true })).toMatchObject({
    rootLinks: [{ path: 'page.html', link: '/repos/guide/1.0/' }],
  })
})
