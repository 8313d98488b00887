import { text } from 'node:stream/consumers'
import { gzipSync } from 'node:zlib'
import { expect, test } from 'vitest'
import { formatIndex } from '../../../../src/content/search/search-index.ts'
import type { Store } from '../../../../src/content/store/store.ts'
import { startContent } from '../../../support/content/content-server.ts'

interface Stored {
  readonly type: string
  readonly coding?: string
  readonly bytes: Buffer
}

const bytes = (latin1: string): Buffer => Buffer.from(latin1, 'latin1')
const UTF16 = Buffer.from('\ufeff<title>t</title><p>caf\u00e9', 'utf16le')
const UTF8_MARK = Buffer.from('\ufeff<p>caf\u00e9')
const LATIN = bytes('<p>caf\xe9')

/** Starts a server whose store has the type and coding of a page, as an uploader wrote them. */
async function start({ type, coding, bytes: page }: Stored, more: Readonly<Record<string, unknown>> = {}) {
  const described = (inner: Store): Store =>
    new Proxy(inner, {
      get(target, name) {
        const value: unknown = Reflect.get(target, name)
        if (typeof value !== 'function') return value
        if (name !== 'open') return value.bind(target) as unknown
        return async (...words: Parameters<Store['open']>) => {
          const opened = await target.open(...words)
          if (typeof opened === 'string' || !words[0].endsWith('page.html')) return opened
          return { ...opened, contentType: type, contentEncoding: coding }
        }
      },
    })
  return startContent({ 'repos/a/page.html': page }, { store: described, settings: more })
}

const PLAIN = 'text/html; charset=utf-8'

test.each<readonly [string, Stored, string]>([
  ['a mark of UTF-16', { type: PLAIN, bytes: UTF16 }, 'text/html; charset=utf-16le'],
  ['a mark of UTF-8', { type: 'text/html; charset=iso-8859-1', bytes: UTF8_MARK }, PLAIN],
  ['the same mark', { type: 'text/html;charset="UTF-8"', bytes: UTF8_MARK }, 'text/html;charset="UTF-8"'],
  ['an unknown label', { type: 'text/html; charset=nonsense', bytes: bytes('<p>caf\xc3\xa9') }, PLAIN],
  [
    'no label',
    { type: 'text/html; charset=', bytes: bytes('<meta charset=koi8-r>\xe9') },
    'text/html; charset=koi8-r',
  ],
  ['a quoted label', { type: "text/html; charset='utf-8'", bytes: LATIN }, 'text/html'],
  ['capitals', { type: 'TEXT/HTML', bytes: bytes('<meta charset=koi8-r>\xe9') }, 'TEXT/HTML; charset=koi8-r'],
  ['a known label', { type: 'text/html; charset=Latin1', bytes: LATIN }, 'text/html; charset=Latin1'],
])('the header of a page stored with %s names what browsers use', async (_what, stored, header) => {
  const { ask } = await start(stored)
  expect((await ask('/repos/a/page.html')).headers.get('content-type')).toBe(header)
})

test.each<readonly [string, Stored, string]>([
  ['in UTF-8', { type: 'text/html', coding: 'gzip', bytes: gzipSync('<p>caf\u00e9') }, PLAIN],
  [
    'with a declaration',
    { type: 'text/html', coding: 'gzip', bytes: gzipSync(bytes('<meta charset=big5>\xa4\xa4')) },
    'text/html; charset=big5',
  ],
  ['without one', { type: 'text/html', coding: 'gzip', bytes: gzipSync(LATIN) }, 'text/html'],
  ['with a mark', { type: PLAIN, coding: 'gzip', bytes: gzipSync(UTF16) }, 'text/html; charset=utf-16le'],
  ['damaged', { type: 'text/html', coding: 'gzip', bytes: LATIN }, 'text/html'],
  ['damaged, with a label', { type: PLAIN, coding: 'gzip', bytes: LATIN }, PLAIN],
])('the header of a compressed page %s names the set of its text', async (_what, stored, header) => {
  const { ask } = await start(stored)
  const { headers } = await ask('/repos/a/page.html', { method: 'HEAD' })
  expect([headers.get('content-type'), headers.get('content-encoding')]).toEqual([header, 'gzip'])
})

test('the first bytes of a large compressed page decide about its character set', async () => {
  const page = `<meta charset=koi8-r>${Array.from({ length: 5_000 }, (_, at) => `<p>${at ** 3}`).join('')}`
  const stored = { type: 'text/html', coding: 'gzip', bytes: gzipSync(page) }
  const { ask } = await start(stored, { cache: { max_object_bytes: '8KiB' } })
  const { headers } = await ask('/repos/a/page.html', { method: 'HEAD' })
  expect(headers.get('content-type')).toBe('text/html; charset=koi8-r')
})

test('the Markdown of a page follows its byte order mark', { tags: ['long'] }, async () => {
  for (const page of [
    { type: PLAIN, bytes: UTF16 },
    { type: 'text/html; charset=iso-8859-1', bytes: UTF8_MARK },
    { type: 'TEXT/HTML ; charset=nonsense', bytes: UTF8_MARK },
  ])
    expect(await (await (await start(page)).ask('/repos/a/page.html.md')).text()).toMatch(/caf\u00e9\n$/)
})

test(
  'the Markdown of a page in an unknown character set is read as browsers do, at the address in lists',
  { tags: ['long'] },
  async () => {
    const page = { path: 'undecl.html', title: 't', text: 'caf\u00e9', sections: [] }
    const { ask } = await startContent({
      'repos/a/_search.json': await text(formatIndex([page])),
      'repos/a/undecl.html': bytes('<title>t</title><p>caf\xe9 \x80 \x81'),
    })
    const [, listed = ''] = /\]\(([^)]*)\)/.exec(await (await ask('/repos/a/llms.txt')).text()) ?? []
    expect(listed).toBe('/repos/a/undecl.html.md')
    const markdown = '# t\n\ncaf\u00e9 \u20ac \u0081\n'
    expect(await (await ask(listed)).text()).toBe(markdown)
    expect(await (await ask('/_api/page?path=/repos/a/undecl.html')).json()).toMatchObject({ markdown })
  },
)

test('a page without Markdown is refused for that reason', async () => {
  for (const [stored, cache] of [
    [{ type: 'text/html', coding: 'gzip', bytes: gzipSync('<p>x') }, {}],
    [{ type: 'text/html', bytes: Buffer.alloc(100, 'x') }, { max_object_bytes: '16' }],
    [{ type: 'text/plain', bytes: Buffer.from('x') }, {}],
  ] as const) {
    const { ask } = await start(stored, { cache })
    const answer = await ask('/_api/page?path=/repos/a/page.html')
    const { error } = (await answer.json()) as { readonly error: object }
    expect([answer.status, error]).toEqual([
      404,
      expect.objectContaining({
        code: 'PAGE_NOT_FOUND',
        message: expect.stringContaining('"/repos/a/page.html" has no Markdown: '),
      }),
    ])
  }
})
