import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { type Page, PageFinder } from '../../../src/content/page/find-page.ts'
import { parsePath } from '../../../src/content/page/request-path.ts'
import { FsStore } from '../../../src/content/store/fs-store.ts'
import { ALL_GRANTS, routerOf } from '../../support/content/router.ts'
import { tempDir } from '../../support/temp-dir.ts'

const DOCS = readFileSync(new URL('../../../docs/content-server/addresses.md', import.meta.url), 'utf8')
const [, SECTION = ''] = /## Clean addresses\n([^]*?)\n## /.exec(DOCS) ?? []
const FILES = [...(SECTION.split('|')[0]?.matchAll(/`(\w[^`]*\.html)`/g) ?? [])].map(([, path = '']) => path)
const ROWS = [...SECTION.matchAll(/^\| `([^`]+)` \| ([^|]+) \|/gm)].map(([, path = '', answer = '']) => ({
  path,
  answer,
}))

async function serve(folder: string): Promise<PageFinder> {
  const store = new FsStore(tempDir())
  for (const path of FILES) await store.write(folder + path, Buffer.from(path))
  return routerOf(store)
}

/** Describes a page as the documentation does. @param base path of the folder of the files */
function describePage(page: Page, base: string): string {
  if (page.is === 'object') return `\`${page.object.is === 'cached' ? page.object.bytes.toString() : ''}\``
  return page.is === 'redirect' ? `redirect to \`${page.to.slice(base.length)}\`` : '404'
}

test.each([
  ['repos/guide/', '/repos/guide'],
  ['repos/guide/2.0/', '/repos/guide/2.0'],
  ['_root/', ''],
])('clean addresses in %s are resolved as the documentation lists them', async (folder, base) => {
  const router = await serve(folder)
  expect([FILES.length, ROWS.length]).toEqual([6, 16])
  for (let round = 0; round < 2; round++)
    for (const { path, answer } of ROWS) {
      const asked = parsePath(base + path)
      expect([path, asked && describePage(await router.find(asked, ALL_GRANTS), base)]).toEqual([
        path,
        answer.trim(),
      ])
    }
})

test('no file beside a repository is one of its pages', async () => {
  const store = new FsStore(tempDir())
  await store.write('repos/guide.html', Buffer.from('beside'))
  await store.write('repos/guide/page.html', Buffer.from('page'))
  for (const isDirectory of [false, true])
    expect(
      await routerOf(store).find({ segments: ['repos', 'guide'], isDirectory }, ALL_GRANTS),
    ).toMatchObject({
      is: 'missing',
    })
})
