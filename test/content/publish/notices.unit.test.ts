import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { publish } from '../../../src/content/publish/publish.ts'
import { FsStore } from '../../../src/content/store/fs-store.ts'
import { tempDir } from '../../support/temp-dir.ts'

function run(files: Readonly<Record<string, string>>) {
  const folder = tempDir()
  for (const [name, content] of Object.entries(files)) writeFileSync(join(folder, name), content)
  return publish({ folder, repo: 'guide', deletes: false }, { store: new FsStore(tempDir()), nowMs: 0 })
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
