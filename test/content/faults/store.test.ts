import { connect } from 'node:net'
import { expect, test } from 'vitest'
import { ObjectCache } from '../../../src/content/cache/object-cache.ts'
import { FsStore } from '../../../src/content/store/fs-store.ts'
import { startContent } from '../../support/content/content-server.ts'
import { FaultyStore } from '../../support/content/faulty-store.ts'
import { recovery } from '../../support/recovery.ts'
import { tempDir } from '../../support/temp-dir.ts'
import { waitFor } from '../../support/wait-for.ts'

const FILES = {
  'repos/a/index.html': 'the page',
  'repos/a/big.bin': Buffer.alloc(5_000_000, 'x'),
  'repos/a/_meta.json': '{"description":"d"}',
}

async function startFaulty(settings = {}) {
  const time = { nowMs: 0 }
  let store: FaultyStore | undefined
  const clock = { nowMs: () => time.nowMs, wallMs: Date.now }
  const content = await startContent(FILES, {
    settings,
    clock,
    store: (inner) => (store = new FaultyStore(inner)),
  })
  if (store === undefined) throw new Error('the server opened no store')
  return { ...content, time, faulty: store }
}

test('F22 while the store is down cached objects are sent with their age, and others return 502, never 404', async (context) => {
  const { ask, time, faulty } = await startFaulty()
  expect(await (await ask('/repos/a/')).text()).toBe('the page')
  expect(((await (await ask('/_api/repos')).json()) as unknown[]).length).toBe(1)
  time.nowMs = 600_000
  faulty.fails = 'down'
  const stale = await ask('/repos/a/')
  expect([stale.status, await stale.text(), stale.headers.get('age'), stale.headers.get('warning')]).toEqual([
    200,
    'the page',
    '600',
    '110 - "Response is Stale"',
  ])
  expect(((await (await ask('/_api/repos')).json()) as unknown[]).length).toBe(1)
  const other = await ask('/repos/a/other.html')
  expect(other.status).toBe(502)
  expect(await other.text()).not.toContain('the store is down')
  expect((await ask('/_health')).status).toBe(200)
  faulty.fails = 'no'
  time.nowMs += 5_001
  const fresh = await recovery(context, () => ask('/repos/a/'))
  expect([fresh.status, fresh.headers.get('age')]).toEqual([200, null])
  // The failure was not cached.
  expect((await ask('/repos/a/other.html')).status).toBe(404)
})

test('F22 without a cached copy the list of repositories is STORE_UNAVAILABLE', async () => {
  const { ask, faulty } = await startFaulty()
  faulty.fails = 'down'
  const answer = await ask('/_api/repos')
  expect([answer.status, ((await answer.json()) as { error: { code: string } }).error.code]).toEqual([
    502,
    'STORE_UNAVAILABLE',
  ])
  faulty.fails = 'no'
  expect((await ask('/_api/repos')).status).toBe(200)
})

test('the store’s own message is only logged: no response contains it', async () => {
  const { ask, faulty } = await startFaulty()
  faulty.fails = 'down'
  for (const path of [
    '/_api/repos',
    '/_api/search?q=page',
    '/repos/a/',
    '/repos/a/big.bin',
    '/repos/none',
    '/',
  ])
    expect(await (await ask(path)).text(), path).not.toContain('the store is down')
})

test('F22 a store that hangs does not delay readers of a cached copy', { tags: ['long'] }, async () => {
  const { ask, time, faulty } = await startFaulty()
  await ask('/repos/a/')
  time.nowMs = 600_000
  faulty.fails = 'hangs'
  const answer = await ask('/repos/a/')
  expect([answer.status, await answer.text(), answer.headers.get('age')]).toEqual([200, 'the page', '600'])
  expect((await ask('/_health')).status).toBe(200)
  faulty.release()
})

test('F22 an incomplete body is never cached', async () => {
  const { ask, faulty } = await startFaulty()
  faulty.fails = 'half'
  expect((await ask('/repos/a/')).status).toBe(502)
  faulty.fails = 'no'
  expect(await (await ask('/repos/a/')).text()).toBe('the page')
})

test('F33 an incomplete streamed body breaks off instead of looking complete', async () => {
  const { ask, faulty } = await startFaulty({ cache: { max_object_bytes: '1MiB' } })
  faulty.fails = 'half'
  await expect(ask('/repos/a/big.bin').then((answer) => answer.arrayBuffer())).rejects.toThrow('terminated')
  faulty.fails = 'no'
  expect((await (await ask('/repos/a/big.bin')).arrayBuffer()).byteLength).toBe(5_000_000)
})

test('a thousand requests for one page ask the store once for each object', { tags: ['long'] }, async () => {
  const { ask, faulty } = await startFaulty()
  faulty.fails = 'hangs'
  const all = Array.from({ length: 1_000 }, () => ask('/repos/a/').then(({ status }) => status))
  await waitFor('the first request', () => faulty.opened.length > 0)
  faulty.release()
  expect(new Set(await Promise.all(all))).toEqual(new Set([200]))
  expect(faulty.opened).toEqual(['repos/a/_files.json', 'repos/a/index.html'])
})

test('a response from the store outlives the reader who requested it', async () => {
  const { running, cookie, faulty, ask } = await startFaulty()
  faulty.fails = 'hangs'
  const socket = connect(running.port, '127.0.0.1')
  socket.write(`GET /repos/a/ HTTP/1.1\r\nhost: localhost\r\ncookie: ${cookie}\r\n\r\n`)
  await waitFor('the store to be asked', () => faulty.opened.length === 1)
  const second = ask('/repos/a/')
  socket.destroy()
  faulty.release()
  expect(await (await second).text()).toBe('the page')
  expect(faulty.opened).toEqual(['repos/a/_files.json', 'repos/a/index.html'])
})

test('a fetch that started before a purge is not cached', { tags: ['long'] }, async () => {
  const { ask, faulty, store } = await startFaulty()
  await ask('/repos/a/big.bin')
  faulty.fails = 'hangs'
  const before = ask('/repos/a/')
  await waitFor('the store to be asked', () => faulty.opened.includes('repos/a/index.html'))
  await ask('/_admin/cache/purge', { method: 'POST' })
  faulty.release()
  await before
  await store.write('repos/a/index.html', Buffer.from('newer'), { contentType: '' })
  expect(await (await ask('/repos/a/')).text()).toBe('newer')
})

test('an expired page is revalidated by its ETag, and not read again', async () => {
  const { ask, faulty, time } = await startFaulty()
  for (let i = 0; i < 3; i++) {
    expect((await ask('/repos/a/')).status).toBe(200)
    time.nowMs += 300_000
  }
  expect(faulty.opened.filter((key) => key.endsWith('index.html'))).toHaveLength(3)
})

test('O3 a hundred thousand random keys keep the cache within its limit', async () => {
  const limits = { ttlMs: 300_000, negativeTtlMs: 5_000, maxBytes: 1_000_000, maxObjectBytes: 100_000 }
  const empty = new FsStore(tempDir())
  empty.open = () => Promise.resolve('missing')
  const cache = new ObjectCache(empty, limits, { nowMs: () => 0, wallMs: () => 0 })
  for (let i = 0; i < 100_000; i++) {
    await cache.lookUp(`repos/${i}/${'k'.repeat(i % 900)}`)
    if (i % 1_000 === 0) expect(cache.cachedBytes).toBeLessThanOrEqual(limits.maxBytes)
  }
  expect(cache.cachedBytes).toBeLessThanOrEqual(limits.maxBytes)
})

test('O3 query and headers create no separate entry', async () => {
  const { ask, faulty } = await startFaulty()
  for (let i = 0; i < 20; i++)
    await ask(`/repos/a/?${i}`, { headers: { 'x-other': String(i), host: 'localhost' } })
  expect(faulty.opened).toEqual(['repos/a/_files.json', 'repos/a/index.html'])
})
