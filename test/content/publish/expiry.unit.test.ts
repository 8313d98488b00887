import { mkdirSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { expect, test } from 'vitest'
import { setAlias } from '../../../src/content/publish/alias.ts'
import { publish, type PublishRequest } from '../../../src/content/publish/publish.ts'
import { removeExpired } from '../../../src/content/publish/remove-expired.ts'
import { unpublish } from '../../../src/content/publish/unpublish.ts'
import { readMeta } from '../../../src/content/repo/stored-meta.ts'
import { FsStore } from '../../../src/content/store/fs-store.ts'
import { readAll } from '../../../src/content/store/read-object.ts'
import type { Store } from '../../../src/content/store/store.ts'
import { tempDir } from '../../support/temp-dir.ts'

const HOUR_MS = 3_600_000
const DAY_MS = 24 * HOUR_MS
const META = 'repos/guide/_meta.json'
const FOLDER = 'repos/guide/pr-42/'
const FILES = Object.fromEntries(Array.from({ length: 40 }, (_, i) => [`page-${i}.html`, `<p>page ${i}</p>`]))

async function keysIn(store: Store, prefix: string): Promise<readonly string[]> {
  const keys: string[] = []
  for await (const { key } of store.list(prefix)) keys.push(key)
  return keys
}

/** A store with a publisher and a server that removes expired versions, at the same time of day. */
function site(files: Readonly<Record<string, string>> = { 'index.html': '<p>words</p>' }) {
  const store = new FsStore(tempDir())
  const folder = tempDir()
  for (const [path, content] of Object.entries(files)) {
    mkdirSync(dirname(join(folder, path)), { recursive: true })
    writeFileSync(join(folder, path), content)
  }
  const time = { nowMs: 1_800_000_000_000 }
  const run = (more: Partial<PublishRequest>, to: Store = store) =>
    publish(
      { folder, repo: 'guide', deletes: true, ...more },
      { store: to, nowMs: time.nowMs, ttlMs: 300_000 },
    )
  const preview = (to?: Store) => run({ version: 'pr-42', expiresAfterMs: HOUR_MS }, to)
  const meta = () => readMeta(store, 'guide', 'repos/guide/')
  const keys = (prefix: string) => keysIn(store, prefix)
  const remove = async (from: Store = store) => {
    const removed: string[] = []
    const failed: unknown[] = []
    await removeExpired({
      store: from,
      clock: { wallMs: () => time.nowMs, nowMs: () => 0 },
      ttlMs: 300_000,
      onRemoved: (repo, version) => removed.push(`${repo} ${version}`),
      onFailed: (_repo, error) => failed.push(error),
    })
    return { removed, failed }
  }
  return { store, time, run, preview, meta, keys, remove }
}

/** Returns a store that calls `before` before each operation. */
function watched(
  store: Store,
  before: (what: 'open' | 'list' | 'write' | 'remove', key: string) => Promise<void>,
) {
  const inner: Store = {
    async open(key, options) {
      await before('open', key)
      return store.open(key, options)
    },
    async *list(prefix) {
      await before('list', prefix)
      yield* store.list(prefix)
    },
    async write(key, content, options) {
      await before('write', key)
      await store.write(key, content, options)
    },
    async replace(key, ...given) {
      await before('write', key)
      return store.replace(key, ...given)
    },
    async remove(key) {
      await before('remove', key)
      await store.remove(key)
    },
    listNames: (prefix) => store.listNames(prefix),
    removeUnfinished: (...given) => store.removeUnfinished(...given),
    close: () => undefined,
  }
  return inner
}

test('a publish gives a version an end, the next renews it, and one without removes it', async () => {
  const { run, preview, meta, time } = site()
  expect((await preview()).expiresMs).toBe(time.nowMs + HOUR_MS)
  expect((await meta()).expires).toEqual(new Map([['pr-42', time.nowMs + HOUR_MS]]))
  time.nowMs += 1_000
  await preview()
  await run({ version: '1.0' })
  await run({ version: 'pr-43', expiresAfterMs: 2 * HOUR_MS })
  expect((await meta()).expires).toEqual(
    new Map([
      ['pr-43', time.nowMs + 2 * HOUR_MS],
      ['pr-42', time.nowMs + HOUR_MS],
    ]),
  )
  expect((await run({ version: 'pr-42' })).expiresMs).toBeUndefined()
  expect([...((await meta()).expires?.keys() ?? [])]).toEqual(['pr-43'])
})

test('an alias or another unpublish keeps the ends of versions', async () => {
  const { run, preview, meta, store } = site()
  for (const version of ['1.0', '2.0']) await run({ version })
  await preview()
  await run({ version: '9.0', expiresAfterMs: HOUR_MS })
  const before = (await meta()).expires
  await setAlias({ repo: 'guide', alias: 'stable', version: '1.0' }, store)
  await run({ description: 'new' })
  await unpublish({ repo: 'guide', version: '2.0' }, store)
  expect(await meta()).toMatchObject({ expires: before, latest: '1.0' })
  await unpublish({ repo: 'guide', version: '1.0' }, store)
  expect((await meta()).latest).toBeUndefined()
  await unpublish({ repo: 'guide', version: 'pr-42' }, store)
  expect([...((await meta()).expires?.keys() ?? [])]).toEqual(['9.0'])
})

test('a version that expires is never the latest, and an older one becomes it again', async () => {
  const { run, meta } = site()
  for (const version of ['1.0', '2.0']) await run({ version })
  expect((await meta()).latest).toBe('2.0')
  await run({ version: '2.0', expiresAfterMs: HOUR_MS })
  expect((await meta()).latest).toBe('1.0')
  await run({ version: '2.0' })
  expect((await meta()).latest).toBe('2.0')
})

test.each<[Partial<PublishRequest>, string]>([
  [{ expiresAfterMs: HOUR_MS }, 'only a version can expire; add --version'],
  [{ version: 'latest', expiresAfterMs: HOUR_MS }, '"latest" is an alias and cannot expire'],
  [{ version: 'stable', expiresAfterMs: HOUR_MS }, '"stable" is an alias of version "1.0"'],
  [{ version: '1.0', expiresAfterMs: HOUR_MS }, 'with the alias "stable" cannot expire'],
  [{ version: '3.0', aliases: ['next'], expiresAfterMs: HOUR_MS }, 'with the alias "next" cannot expire'],
  [{ version: 'pr-1', expiresAfterMs: 300_000 }, 'longer than cache.ttl (300 s)'],
  [{ version: 'pr-1', expiresAfterMs: 0 }, 'longer than cache.ttl (300 s)'],
  [{ version: 'pr-1', expiresAfterMs: 3_651 * DAY_MS }, 'at most 3650d'],
])('the end in %j is refused, and nothing is written', async (request, message) => {
  const { run, keys, meta } = site()
  await run({ version: '1.0', aliases: ['stable'] })
  const before = [await keys('repos/'), await meta()]
  await expect(run(request)).rejects.toMatchObject({
    code: 'PUBLISH_INVALID',
    message: expect.stringContaining(message),
  })
  expect([await keys('repos/'), await meta()]).toEqual(before)
})

test('a version that expires cannot get an alias', async () => {
  const { preview, store } = site()
  await preview()
  await expect(setAlias({ repo: 'guide', alias: 'stable', version: 'pr-42' }, store)).rejects.toThrow(
    'expires and cannot have an alias',
  )
})

test('a publish is refused before it sends anything if the repository would have too many versions', async () => {
  const { preview, store, keys } = site()
  const versions = Array.from({ length: 1_000 }, (_, i) => `pr-9${i}`)
  await store.write(META, Buffer.from(JSON.stringify({ versions })))
  await expect(preview()).rejects.toThrow('1001 versions are too many')
  expect(await keys(FOLDER)).toEqual([])
})

test('the removal deletes exactly the versions whose end passed a day ago', async () => {
  const { run, preview, remove, keys, time, meta, store } = site()
  await preview()
  await run({ version: 'pr-43', expiresAfterMs: HOUR_MS + 1_000 })
  await run({ version: '1.0' })
  await store.write(`${FOLDER}by-another-program.txt`, Buffer.from('x'))
  const others = [await keys('repos/guide/pr-43/'), await keys('repos/guide/1.0/')]
  time.nowMs += HOUR_MS + DAY_MS - 1
  expect((await remove()).removed).toEqual([])
  time.nowMs += 1
  const before = await meta()
  // Several hosts at the same time.
  const both = await Promise.all([remove(), remove()])
  expect(both.flatMap(({ failed }) => failed)).toEqual([])
  expect(both.flatMap(({ removed }) => removed)).toContain('guide pr-42')
  expect(await keys(FOLDER)).toEqual([`${FOLDER}by-another-program.txt`])
  expect([await keys('repos/guide/pr-43/'), await keys('repos/guide/1.0/')]).toEqual(others)
  expect(await meta()).toEqual(before)
  expect((await remove()).removed).toEqual([])
})

test('a later publish forgets removed versions, and only those', async () => {
  const { run, preview, remove, meta, time } = site()
  await preview()
  time.nowMs += HOUR_MS + DAY_MS
  await run({ version: '1.0' })
  expect((await meta()).versions).toEqual(['1.0', 'pr-42'])
  await remove()
  await run({ version: '2.0' })
  expect(await meta()).toMatchObject({ versions: ['2.0', '1.0'], latest: '2.0' })
  expect((await meta()).expires).toBeUndefined()
})

test.each([
  ['missing', undefined],
  ['damaged', 'no JSON'],
  ['without the end', '{"versions":["pr-42"]}'],
  ['with an invalid end', '{"versions":["pr-42"],"expires":{"pr-42":0}}'],
  ['with an end that is not a time', '{"versions":["pr-42"],"expires":{"pr-42":"1999"}}'],
  ['with the end of a version that is not listed', '{"expires":{"pr-42":"2001-01-01T00:00:00Z"}}'],
])('nothing is removed if the metadata is %s', async (_what, content) => {
  const { preview, remove, keys, store, time } = site()
  await preview()
  const before = await keys(FOLDER)
  time.nowMs += 30 * DAY_MS
  if (content === undefined) await store.remove(META)
  else await store.write(META, Buffer.from(content))
  expect((await remove()).removed).toEqual([])
  expect(await keys(FOLDER)).toEqual(before)
})

test('a store that fails when the end is read again stops the removal', async () => {
  const { preview, remove, keys, store, time } = site(FILES)
  await preview()
  const before = await keys(FOLDER)
  time.nowMs += 2 * DAY_MS
  let reads = 0
  const failing = watched(store, async (what, key) => {
    if (what === 'open' && key === META && ++reads > 2) throw new Error('the store fails')
  })
  expect((await remove(failing)).failed).toHaveLength(1)
  expect(await keys(FOLDER)).toEqual(before)
})

/** Whether every file that the manifest lists is in the store. */
async function isWhole(store: Store, keys: readonly string[]): Promise<boolean> {
  const opened = await store.open(`${FOLDER}_files.json`)
  if (typeof opened === 'string') return false
  const text = (await readAll(opened)).toString()
  const hashes = [...text.matchAll(/"sha256":"([0-9a-f]{64})"/g)].map(([, hash]) => hash)
  return hashes.length > 40 && hashes.every((hash) => keys.includes(`${FOLDER}_objects/${hash}`))
}

test(
  'a version that is published again at any point of its removal stays, complete',
  { tags: ['long'] },
  async () => {
    let [point, isReached] = [0, true]
    for (; isReached; point++) {
      const { preview, remove, keys, store, time, meta } = site(FILES)
      await preview()
      time.nowMs += 2 * DAY_MS
      let reads = 0
      isReached = false
      const renewing = watched(store, async (what, key) => {
        if (what !== 'open' || key !== META || reads++ !== point) return
        isReached = true
        await preview()
      })
      await remove(renewing)
      if (!isReached) await preview()
      expect([point, await isWhole(store, await keys(FOLDER))]).toEqual([point, true])
      expect((await meta()).expires).toEqual(new Map([['pr-42', time.nowMs + HOUR_MS]]))
    }
    expect(point).toBeGreaterThan(5)
  },
)

test('the list of files of a version that is published again before its deletion stays', async () => {
  const { preview, remove, keys, store, time } = site(FILES)
  await preview()
  time.nowMs += 2 * DAY_MS
  let left = (await keys(`${FOLDER}_objects/`)).length
  await remove({
    ...watched(store, () => Promise.resolve()),
    async remove(key) {
      await store.remove(key)
      if (--left === 0) await preview()
    },
  })
  expect(await isWhole(store, await keys(FOLDER))).toBe(true)
})

test('a removal at any point of a publish leaves the version complete', { tags: ['long'] }, async () => {
  let points = 1
  for (let point = 0; point < points; point++) {
    const { preview, remove, keys, store, time } = site(FILES)
    await preview()
    time.nowMs += 2 * DAY_MS
    let steps = 0
    await preview(
      watched(store, async (what) => {
        if (what !== 'open' && steps++ === point) await remove()
      }),
    )
    points = steps
    expect([point, await isWhole(store, await keys(FOLDER))]).toEqual([point, true])
  }
})

test('deletions that were sent before the version was held are repaired by its publish', async () => {
  const { preview, remove, keys, store, time } = site(FILES)
  await preview()
  time.nowMs += 2 * DAY_MS
  const listed = Promise.withResolvers<void>()
  const removed = Promise.withResolvers<void>()
  let publishing: Promise<unknown> | undefined
  let lists = 0
  const slow: Store = {
    ...watched(store, () => Promise.resolve()),
    // Deletions follow the list.
    async *list(prefix) {
      for (const key of await keysIn(store, prefix)) yield { key }
      if (prefix.endsWith('_objects/') && lists++ === 0) {
        listed.resolve()
        await removed.promise
      }
    },
  }
  await remove(
    watched(store, async (what) => {
      if (what !== 'remove') return
      publishing ??= preview(slow)
      await listed.promise
    }),
  )
  expect(await isWhole(store, await keys(FOLDER))).toBe(false)
  removed.resolve()
  await publishing
  expect(await isWhole(store, await keys(FOLDER))).toBe(true)
})
