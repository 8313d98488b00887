import { expect, onTestFinished, test } from 'vitest'
import type { CachedObject } from '../../../src/content/cache/object-cache.ts'
import { MarkdownPages } from '../../../src/content/markdown/markdown-pages.ts'
import { createLogger } from '../../../src/lib/log/logger.ts'

function pageOf(html: string, etag = `"${html}"`): CachedObject {
  const bytes = Buffer.from(html)
  const info = {
    key: 'repos/x/index.html',
    size: bytes.length,
    etag,
    lastModifiedMs: 0,
    contentType: 'text/html',
    contentEncoding: undefined,
  }
  return { is: 'cached', info, bytes }
}

function pagesWith(maxBytes: number): MarkdownPages {
  const pages = new MarkdownPages(maxBytes, createLogger({ level: 'silent', format: 'json' }))
  onTestFinished(() => pages.close())
  return pages
}

test('a page is converted once while its Markdown is kept, and its tag follows that of the page', async () => {
  const pages = pagesWith(100_000)
  const page = pageOf('<b>x</b>', '"1"')
  const [one, two] = await Promise.all([pages.find(page), pages.find(page)])
  expect(one).toBe(two)
  expect(await pages.find(page)).toBe(one)
  expect([one.bytes.toString(), one.info.etag, one.info.size]).toEqual(['**x**\n', '"1-markdown-2"', 6])
  const changed = await pages.find(pageOf('<i>x</i>', '"2"'))
  expect([changed.bytes.toString(), changed.info.etag]).toEqual(['*x*\n', '"2-markdown-2"'])
})

test('memory is bounded: without room nothing is kept', async () => {
  const pages = pagesWith(1)
  const page = pageOf('x')
  expect(await pages.find(page)).not.toBe(await pages.find(page))
})

test('too many waiting pages, and a page that failed, are refused', async () => {
  const pages = pagesWith(100_000)
  const many = Array.from({ length: 80 }, (_, i) => pages.find(pageOf(`page ${i}`)))
  const results = await Promise.allSettled(many)
  const refused = results.filter(({ status }) => status === 'rejected')
  expect(refused).toHaveLength(16)
  expect(refused).toEqual(
    refused.map(() => ({
      status: 'rejected',
      reason: expect.objectContaining({ code: 'MARKDOWN_UNAVAILABLE' }),
    })),
  )
  await pages.close()
  const failing = pageOf('after the end')
  for (let i = 0; i < 2; i++)
    await expect(pages.find(failing)).rejects.toMatchObject({ code: 'MARKDOWN_UNAVAILABLE' })
})
