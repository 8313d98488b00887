import { randomBytes } from 'node:crypto'
import { brotliCompressSync, brotliDecompressSync, gunzipSync } from 'node:zlib'
import { request } from 'node:http'
import { buffer } from 'node:stream/consumers'
import { fc } from '../../../support/fast-check.ts'
import { describe, expect, test } from 'vitest'
import { startContent, type TestContent } from '../../../support/content/content-server.ts'
import { sendRaw, statusOf } from '../../../support/http/raw-http.ts'
import { rounds } from '../../../support/rounds.ts'

const PAGE = `<!doctype html><h1>Guide</h1>${'<p>words and words</p>'.repeat(500)}`
const FILES = {
  'repos/guide/_meta.json': JSON.stringify({
    description: 'How to',
    last_published: '2026-01-02T03:04:05Z',
    repo: 'a/b',
  }),
  'repos/guide/index.html': PAGE,
  'repos/guide/deep/index.html': 'deep',
  'repos/guide/404.html': 'guide has no such page',
  'repos/guide/app.js': 'x',
  'repos/guide/data.bin': Buffer.from('0123456789'),
  'repos/guide/a b+%ü.txt': 'odd',
  'repos/bare/page.html': 'bare',
  'repos/versioned/_meta.json': JSON.stringify({ versions: ['2.0', '1.0'], latest: '2.0' }),
  'repos/versioned/2.0/index.html': 'two',
  'repos/versioned/1.0/404.html': 'not in one',
  '_root/about.html': 'about',
  '_root/help/index.html': 'help',
  '_root/bare/page.html': 'root wins',
}

/** Returns the response's bytes without decoding, which fetch would do. */
async function raw(content: TestContent, path: string, headers: Record<string, string> = {}, method = 'GET') {
  const response = await new Promise<import('node:http').IncomingMessage>((resolve, reject) =>
    request(content.url + path, { method, headers: { cookie: content.cookie, ...headers } }, resolve)
      .on('error', reject)
      .end(),
  )
  return { status: response.statusCode, headers: response.headers, body: await buffer(response) }
}

test('a response from memory equals the one from the store, and is counted', async () => {
  const content = await startContent(FILES)
  for (const coding of ['identity', 'br', 'gzip']) {
    const ask = async () => {
      const { headers, ...answer } = await raw(content, '/repos/guide/', { 'accept-encoding': coding })
      const { date: _date, ...others } = headers
      return { ...answer, others }
    }
    const first = await ask()
    expect(first.others).toMatchObject({
      vary: 'accept, accept-encoding',
      'x-content-type-options': 'nosniff',
    })
    expect(await ask()).toEqual(first)
  }
  expect(await (await content.ask('/metrics')).text()).toContain(
    'http_request_duration_seconds_count{method="GET",route="/*",status="200"} 6',
  )
})

describe('paths', () => {
  test('each path returns its object', async () => {
    const { ask } = await startContent(FILES)
    const table = [
      ['/repos/guide/', 200, PAGE],
      ['/repos/guide/app.js', 200, 'x'],
      ['/repos/guide/a%20b+%25%C3%BC.txt', 200, 'odd'],
      ['/repos/guide/deep/', 200, 'deep'],
      ['/repos/guide/none', 404, 'guide has no such page'],
      ['/repos/guide/none/', 404, 'guide has no such page'],
      ['/repos/versioned/1.0/none', 404, 'not in one'],
      ['/about.html', 200, 'about'],
      ['/help/', 200, 'help'],
      ['/bare/page.html', 200, 'root wins'],
    ] as const
    for (const [path, status, body] of table) {
      const answer = await ask(path)
      expect([path, answer.status, await answer.text()]).toEqual([path, status, body])
    }
  })

  test('redirects add slashes, and lead repositories to their latest version, keeping the query', async () => {
    const { ask } = await startContent(FILES)
    const to = async (path: string) => {
      const { status, headers } = await ask(path)
      return [status, headers.get('location'), headers.get('cache-control')]
    }
    expect(await to('/repos/guide?a=1')).toEqual([302, '/repos/guide/?a=1', 'no-store'])
    expect(await to('/repos/guide/deep')).toEqual([302, '/repos/guide/deep/', 'no-store'])
    expect(await to('/help')).toEqual([302, '/help/', 'no-store'])
    expect(await to('/guide/app.js')).toEqual([302, '/repos/guide/app.js', 'no-store'])
    expect(await to('/guide/')).toEqual([302, '/repos/guide/', 'no-store'])
    expect(await to('/repos/versioned/')).toEqual([302, '/repos/versioned/2.0/', 'no-store'])
  })

  test('a missing path returns the generated page with 404', async () => {
    const { ask } = await startContent(FILES)
    for (const path of ['/none', '/repos', '/repos/', '/repos/none/', '/repos/bare/x', '/_api/none']) {
      const answer = await ask(path)
      expect([path, answer.status]).toEqual([path, 404])
      expect(answer.headers.get('cache-control')).toBe(path.startsWith('/_api') ? null : 'no-store')
    }
  })

  test('the generated 404 page is a sentence with a link to the repository, if the reader may know of it', async () => {
    const { ask } = await startContent({
      'repos/versioned/_meta.json': JSON.stringify({ versions: ['2.0'], latest: '2.0' }),
      'repos/versioned/2.0/index.html': 'two',
    })
    const text = async (path: string): Promise<string> => (await ask(path)).text()
    for (const path of ['/repos/versioned/9.9/', '/repos/versioned/2.0/none', '/repos/versioned/9.9']) {
      expect(await text(path)).toContain(`<p>Nothing is published at ${path}</p>`)
      expect(await text(path)).toContain('<a href="/repos/versioned/">Documentation of versioned</a>')
    }
    expect(await text('/repos/none/9.9/')).not.toContain('Documentation of')
  })

  test('O4 paths outside the store return nothing', async () => {
    const { running, cookie } = await startContent({ ...FILES, secret: 'canary' })
    const table = [
      '/repos/guide/../../secret',
      '/repos/guide/%2e%2e/%2e%2e/secret',
      '/repos/guide/..%2f..%2fsecret',
      '/repos/guide/%2e%2e%5csecret',
      '/repos/guide/%252e%252e/secret',
      '//evil.com/repos',
      '/repos//guide/',
      '/repos/guide//index.html',
      '/repos/guide/x%00.html',
      '/repos/guide/%0d%0aset-cookie:x',
      '/repos/guide/%',
      '/repos/guide/%ff',
      '/repos/guide/.',
      '/repos/guide/\\..\\x',
      '/..',
      '/%2e%2e/',
    ]
    for (const path of table) {
      const lines = [`GET ${path} HTTP/1.1`, 'host: localhost', `cookie: ${cookie}`, 'connection: close']
      const answer = await sendRaw(running.port, `${lines.join('\r\n')}\r\n\r\n`)
      expect([path, [400, 404].includes(statusOf(answer))]).toEqual([path, true])
      expect(answer).not.toMatch(/canary|^(?:set-cookie|location):/im)
    }
  })

  test('H8 any path responds with 200, 302, 400 or 404, and never leaves the site', async () => {
    const { ask, url } = await startContent(FILES)
    const piece = fc.constantFrom(
      'repos',
      'guide',
      '..',
      '.',
      '%2e%2e',
      '%2f',
      '%5c',
      '\\',
      '%00',
      '',
      '/',
      'evil.com',
      'deep',
      '%',
      'é',
      '@',
      ':',
    )
    await fc.assert(
      fc.asyncProperty(fc.array(piece, { maxLength: 7 }), async (pieces) => {
        const answer = await ask(`/${pieces.join('/')}`).catch(() => undefined)
        if (answer === undefined) return
        expect([200, 302, 400, 404]).toContain(answer.status)
        const location = answer.headers.get('location')
        if (location !== null) expect(new URL(location, url).origin).toBe(url)
      }),
      { numRuns: rounds(60, 300) },
    )
  })

  test('H9 repositories named like parts of objects are repositories', async () => {
    const names = ['constructor', 'toString', '__proto__x', 'hasOwnProperty']
    const { ask } = await startContent(
      Object.fromEntries(names.map((name) => [`repos/${name}/index.html`, name])),
    )
    for (const name of names) expect(await (await ask(`/repos/${name}/`)).text()).toBe(name)
    expect((await ask('/valueOf/')).status).toBe(404)
  })
})

describe('answers', () => {
  test('a page has its type, ETag, date and private caching', async () => {
    const content = await startContent(FILES)
    const { headers } = await raw(content, '/repos/guide/')
    expect(headers).toMatchObject({
      'content-type': 'text/html; charset=utf-8',
      'cache-control': 'private, no-cache',
      'x-content-type-options': 'nosniff',
      'accept-ranges': 'bytes',
      vary: 'accept, accept-encoding',
      'content-length': String(PAGE.length),
    })
    expect(headers.etag).toMatch(/^"/)
    expect(Date.parse(headers['last-modified'] ?? '')).not.toBeNaN()
  })

  test('an unchanged page returns 304 in any form', async () => {
    const content = await startContent(FILES)
    for (const coding of ['identity', 'gzip', 'br']) {
      const { headers } = await raw(content, '/repos/guide/', { 'accept-encoding': coding })
      const again = await raw(content, '/repos/guide/', {
        'accept-encoding': coding,
        'if-none-match': headers.etag ?? '',
      })
      expect([again.status, again.body.length, again.headers.etag]).toEqual([304, 0, headers.etag])
      const byDate = { 'accept-encoding': coding, 'if-modified-since': headers['last-modified'] ?? '' }
      expect((await raw(content, '/repos/guide/', byDate)).status).toBe(304)
    }
  })

  test('text is compressed as the client accepts it, each form with a separate ETag', async () => {
    const content = await startContent(FILES)
    const identity = await raw(content, '/repos/guide/')
    const brotli = await raw(content, '/repos/guide/', { 'accept-encoding': 'gzip, br' })
    const gzip = await raw(content, '/repos/guide/', { 'accept-encoding': 'gzip' })
    expect(brotliDecompressSync(brotli.body).toString()).toBe(PAGE)
    expect(gunzipSync(gzip.body).toString()).toBe(PAGE)
    expect(brotli.headers['content-encoding']).toBe('br')
    expect(new Set([identity, brotli, gzip].map(({ headers }) => headers.etag)).size).toBe(3)
    const small = await raw(content, '/repos/guide/app.js', { 'accept-encoding': 'br' })
    expect(small.headers['content-encoding']).toBeUndefined()
  })

  test('a compressed sibling is sent when it is not older than its object', async () => {
    const content = await startContent({ 'repos/a/x.html': PAGE })
    await content.store.write('repos/a/x.html.br', brotliCompressSync('sibling'), { contentType: '' })
    const first = await raw(content, '/repos/a/x.html', { 'accept-encoding': 'br' })
    expect(brotliDecompressSync(first.body).toString()).toBe('sibling')
    await content.store.write('repos/a/x.html', Buffer.from(PAGE.toUpperCase()), { contentType: '' })
    await content.ask('/_admin/cache/purge', { method: 'POST' })
    const second = await raw(content, '/repos/a/x.html', { 'accept-encoding': 'br' })
    expect(brotliDecompressSync(second.body).toString()).toBe(PAGE.toUpperCase())
  })

  test('HEAD returns the headers of GET without the bytes', async () => {
    const content = await startContent(FILES)
    for (const path of ['/repos/guide/', '/repos/guide/data.bin', '/repos/guide/none', '/']) {
      const [get, head] = [await raw(content, path), await raw(content, path, {}, 'HEAD')]
      const { date: _one, ...expected } = get.headers
      const { date: _other, ...headers } = head.headers
      expect([head.status, head.body.length, headers]).toEqual([get.status, 0, expected])
    }
  })

  test('ranges return those bytes of the uncompressed object', async () => {
    const content = await startContent(FILES)
    const ask = (range: string, more = {}) =>
      raw(content, '/repos/guide/data.bin', { range, 'accept-encoding': 'br', ...more })
    const middle = await ask('bytes=2-4')
    expect([middle.status, middle.body.toString(), middle.headers['content-range']]).toEqual([
      206,
      '234',
      'bytes 2-4/10',
    ])
    expect((await ask('bytes=-2')).body.toString()).toBe('89')
    const beyond = await ask('bytes=10-')
    expect([beyond.status, beyond.headers['content-range']]).toEqual([416, 'bytes */10'])
    expect((await ask('bytes=0-1,3-4')).status).toBe(200)
    expect((await ask('bytes=2-4', { 'if-range': '"other"' })).status).toBe(200)
    expect((await ask('bytes=2-4', { 'if-range': middle.headers.etag })).status).toBe(206)
  })

  test('an object beyond the limit is streamed: whole, in ranges, and after it changed', async () => {
    const bytes = randomBytes(3_000_000)
    const content = await startContent(
      { 'repos/a/big.bin': bytes },
      { settings: { cache: { max_object_bytes: '1MiB' } } },
    )
    expect((await raw(content, '/repos/a/big.bin')).body.equals(bytes)).toBe(true)
    const part = await raw(content, '/repos/a/big.bin', { range: 'bytes=1000000-1999999' })
    expect([part.status, part.body.equals(bytes.subarray(1_000_000, 2_000_000))]).toEqual([206, true])
    const other = randomBytes(2_000_000)
    await content.store.write('repos/a/big.bin', other, { contentType: '' })
    // The cached size is outdated, so the object is looked up again.
    expect((await raw(content, '/repos/a/big.bin')).body.equals(other)).toBe(true)
  })

  test('a page supports no other method', async () => {
    const { ask } = await startContent(FILES)
    for (const method of ['POST', 'PUT', 'DELETE', 'PATCH']) {
      const { status, headers } = await ask('/repos/guide/', { method })
      expect([method, status, new Headers(headers).get('allow')]).toEqual([method, 405, 'GET, HEAD'])
    }
  })
})
