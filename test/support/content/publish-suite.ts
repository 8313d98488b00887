import { createHash } from 'node:crypto'
import { mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fc } from '../fast-check.ts'
import { describe, expect, test } from 'vitest'
import { ObjectCache } from '../../../src/content/cache/object-cache.ts'
import { Publications } from '../../../src/content/publication/publications.ts'
import { CachedMetas } from '../../../src/content/repo/cached-metas.ts'
import { SiteObjects } from '../../../src/content/publication/site-objects.ts'
import { publish } from '../../../src/content/publish/publish.ts'
import { unpublish } from '../../../src/content/publish/unpublish.ts'
import type { Store } from '../../../src/content/store/store.ts'
import { tempDir } from '../temp-dir.ts'
import { waitFor } from '../wait-for.ts'

type Site = Readonly<Record<string, string>>

const PATHS = ['index.html', 'a/page.html', 'a/index.html', 'app.js', 'style.css', 'data.bin']
const DAY_MS = 24 * 3_600_000
/** Later than every file of the tests. */
const START_MS = Date.now() + DAY_MS
const LIMITS = { maxBytes: 1_000_000, maxObjectBytes: 100_000 }
const clock = { nowMs: () => performance.now(), wallMs: Date.now }

const text = fc.constantFrom('one', 'two', 'three '.repeat(300), '<p>four</p>')
const site: fc.Arbitrary<Site> = fc
  .dictionary(fc.constantFrom(...PATHS), text, { minKeys: 1 })
  .map((files) => ({ ...files }))

/** Called before and after each operation of a publish on its store. */
type OnStep = (when: 'before' | 'after') => Promise<void>

/** Returns a store that reports each change. */
function stepping(store: Store, onStep: OnStep): Store {
  const step =
    <Given extends readonly unknown[], Result>(work: (...given: Given) => Promise<Result>) =>
    async (...given: Given): Promise<Result> => {
      await onStep('before')
      const result = await work(...given)
      await onStep('after')
      return result
    }
  return {
    open: (...given) => store.open(...given),
    list: (...given) => store.list(...given),
    listNames: (...given) => store.listNames(...given),
    removeUnfinished: (...given) => store.removeUnfinished(...given),
    write: step((...given: Parameters<Store['write']>) => store.write(...given)),
    replace: step((...given: Parameters<Store['replace']>) => store.replace(...given)),
    remove: step((key: string) => store.remove(key)),
    close: () => undefined,
  }
}

/** Returns a reader of `repos/guide/`: the files that a server with empty caches, or with its last view, would send. */
function reader(store: Store, ttlMs = 0) {
  const expiry = { ttlMs, negativeTtlMs: ttlMs }
  const publications = new Publications(store, expiry, clock)
  return async (): Promise<Site> => {
    const cache = new ObjectCache(store, { ...LIMITS, ttlMs: 0, negativeTtlMs: 0 }, clock)
    const objects = new SiteObjects(cache, publications, new CachedMetas(cache, 0, clock))
    const files: Record<string, string> = {}
    for (const path of PATHS) {
      const { known } = await objects.lookUp(`repos/guide/${path}`)
      if (known.is === 'cached') files[path] = known.bytes.toString()
    }
    return files
  }
}

async function publishSite(store: Store, files: Site, afterMs = 0): Promise<void> {
  const folder = tempDir()
  for (const [path, content] of Object.entries(files)) {
    mkdirSync(dirname(join(folder, path)), { recursive: true })
    writeFileSync(join(folder, path), content)
  }
  await publish({ folder, repo: 'guide', deletes: true }, { store, nowMs: START_MS + afterMs })
  rmSync(folder, { recursive: true })
}

/** Stores a site as earlier versions of the program did: under its paths. */
async function publishInPlace(store: Store, files: Site): Promise<void> {
  const listed: Record<string, unknown> = {}
  for (const [path, content] of Object.entries(files)) {
    await store.write(`repos/guide/${path}`, Buffer.from(content), { contentType: '' })
    const sha256 = createHash('sha256').update(content).digest('hex')
    listed[path] = { sha256, size: content.length, compressed: false }
  }
  const manifest = Buffer.from(JSON.stringify({ format: 1, files: listed }))
  await store.write('repos/guide/_files.json', manifest, { contentType: 'application/json' })
}

async function keysOf(store: Store): Promise<readonly string[]> {
  const keys: string[] = []
  for await (const { key } of store.list('repos/guide/')) keys.push(key)
  return keys.toSorted()
}

async function emptyStore(store: Store): Promise<void> {
  for (const key of await keysOf(store)) await store.remove(key)
}

/** Tests that publishing is atomic. @param numRuns sites tried by each property */
export function publishSuite(name: string, open: () => Promise<Store>, numRuns: number): void {
  describe(`publish to ${name}`, () => {
    const starts = [
      ['of an earlier publish', publishSite],
      ['in place of an earlier version', publishInPlace],
    ] as const

    test.each(starts)(
      'Y6 between any two steps readers get exactly one publication, after files %s',
      { timeout: 300_000 },
      async (_what, start) => {
        const store = await open()
        const check = async (old: Site, next: Site): Promise<void> => {
          await emptyStore(store)
          await start(store, old)
          const current = reader(store)
          // The publication that a server has read stays whole until the server reads the next one.
          const lasting = reader(store, Number.POSITIVE_INFINITY)
          expect(await lasting()).toEqual(old)
          let isSwitched = false
          const look = async (): Promise<void> => {
            const seen = await current()
            expect(seen).toEqual(isSwitched || !isSame(seen, old) ? next : old)
            isSwitched ||= !isSame(seen, old)
            expect(await lasting()).toEqual(old)
          }
          await publishSite(stepping(store, look), next, 1)
          expect(await current()).toEqual(next)
        }
        await fc.assert(fc.asyncProperty(site, site, check), { numRuns })
      },
    )

    test.each(starts)(
      'Y9 a publish cut off at any step leaves one publication whole and is completed by the next, after files %s',
      { timeout: 300_000 },
      async (_what, start) => {
        const store = await open()
        const check = async (old: Site, next: Site): Promise<void> => {
          for (let allowed = 0; ; allowed++) {
            await emptyStore(store)
            await start(store, old)
            let left = allowed
            const failing = stepping(store, (when) => {
              // Alternately, the operation that fails has or has not changed the store.
              const counts = when === (allowed % 2 === 0 ? 'before' : 'after')
              return counts && --left < 0 ? Promise.reject(new Error('cut off')) : Promise.resolve()
            })
            const isComplete = await publishSite(failing, next, 1).then(
              () => true,
              () => false,
            )
            const seen = await reader(store)()
            expect([old, next]).toContainEqual(seen)
            await publishSite(store, next, 2)
            expect(await reader(store)()).toEqual(next)
            // Later publishes sweep all that the interrupted and the earlier one have left.
            await publishSite(store, next, 3 * DAY_MS)
            await publishSite(store, next, 6 * DAY_MS)
            expect(await reader(store)()).toEqual(next)
            const swept = await keysOf(store)
            await emptyStore(store)
            await publishSite(store, next)
            expect(swept).toEqual(await keysOf(store))
            await unpublish({ repo: 'guide' }, store)
            expect(await keysOf(store)).toEqual([])
            if (isComplete) return
          }
        }
        await fc.assert(fc.asyncProperty(site, site, check), { numRuns: Math.ceil(numRuns / 5) })
      },
    )

    test('the next publish sends only what an interrupted one has not sent', async () => {
      const store = await open()
      await emptyStore(store)
      const files = Object.fromEntries(PATHS.map((path) => [path, `content of ${path}`]))
      let left = 4
      let running = 0
      const failing = stepping(store, async (when) => {
        if (when === 'before' && --left < 0) throw new Error('cut off')
        running += when === 'before' ? 1 : -1
      })
      await expect(publishSite(failing, files)).rejects.toThrow('cut off')
      await waitFor('the writes that were running', () => running === 0)
      const before = await keysOf(store)
      let writes = 0
      await publishSite(
        stepping(store, async (when) => void (when === 'after' && writes++)),
        files,
      )
      // The remaining contents, the index, the manifest and the metadata.
      expect(writes).toBe(PATHS.length - before.length + 3)
    })
  })
}

function isSame(a: Site, b: Site): boolean {
  return PATHS.every((path) => a[path] === b[path])
}
