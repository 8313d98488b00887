import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { describe, expect, test } from 'vitest'
import { contentKey } from '../../../src/content/publication/content-key.ts'
import { readManifest } from '../../../src/content/publication/stored-manifest.ts'
import { setAlias } from '../../../src/content/publish/alias.ts'
import { publish, type PublishRequest } from '../../../src/content/publish/publish.ts'
import { removeExpired } from '../../../src/content/publish/remove-expired.ts'
import { unpublish } from '../../../src/content/publish/unpublish.ts'
import { META_FILE } from '../../../src/content/repo/meta.ts'
import { readMeta } from '../../../src/content/repo/stored-meta.ts'
import type { Store } from '../../../src/content/store/store.ts'
import { tempDir } from '../temp-dir.ts'

const ROOT = 'repos/guide/'
const DAY_MS = 24 * 3_600_000
const NOW_MS = Date.now() + 7 * DAY_MS
const NUMBERS = [0, 1, 2, 3, 4]
/** Longer than a read of the metadata takes. */
const MEETING_MS = 40

/**
 * Returns a store whose writers of lists of files and versions meet: each waits until all others have read the list
 * too, or until a time has passed.
 */
function meeting(store: Store): Store {
  const gates = new Map<string, Promise<unknown>>()
  const meet = async (key: string): Promise<void> => {
    if (!key.endsWith('.json')) return
    const gate = gates.get(key) ?? delay(MEETING_MS).then(() => gates.delete(key))
    gates.set(key, gate)
    await gate
  }
  return {
    open: (...given) => store.open(...given),
    list: (...given) => store.list(...given),
    listNames: (...given) => store.listNames(...given),
    removeUnfinished: (...given) => store.removeUnfinished(...given),
    async write(key, ...given) {
      await meet(key)
      await store.write(key, ...given)
    },
    async replace(key, ...given) {
      await meet(key)
      return store.replace(key, ...given)
    },
    async remove(key) {
      await meet(key)
      await store.remove(key)
    },
    close: () => undefined,
  }
}

/** Functions that change one repository in a store. */
function changing(store: Store) {
  return {
    publish(more: Partial<PublishRequest>, page = 'index.html', nowMs = NOW_MS) {
      const folder = tempDir()
      mkdirSync(join(folder, 'all'))
      for (const path of [page, 'all/same.txt']) writeFileSync(join(folder, path), `text of ${path}`)
      return publish({ folder, repo: 'guide', deletes: true, ...more }, { store, nowMs })
    },
    unpublish: (version?: string) => unpublish({ repo: 'guide', version }, store),
    setAlias: (alias: string, version?: string) => setAlias({ repo: 'guide', alias, version }, store),
    removeExpired: () =>
      removeExpired({
        store,
        clock: { wallMs: () => NOW_MS, nowMs: () => 0 },
        ttlMs: 0,
        onRemoved: () => undefined,
        onFailed(_repo, error) {
          throw error
        },
      }),
  }
}

async function pathsIn(store: Store, version: string): Promise<readonly string[]> {
  const folder = version === '' ? ROOT : `${ROOT}${version}/`
  const { manifest } = await readManifest(store, folder)
  const there = new Set<string>()
  for await (const { key } of store.list(folder)) there.add(key)
  for (const { sha256 } of manifest.files.values()) expect(there).toContain(folder + contentKey(sha256))
  return [...manifest.files.values()].map(({ path }) => path).filter((path) => path.endsWith('.html'))
}

/** Tests that changes of one repository at the same time do not overwrite each other. */
export function parallelSuite(name: string, open: () => Promise<Store>): void {
  describe(`changes of one repository at the same time in ${name}`, () => {
    test(
      'F39 nothing is missing that a publish, an unpublish or a change of an alias reported as done',
      { timeout: 120_000 },
      async () => {
        const store = await open()
        const before = changing(store)
        for (const version of ['base', ...NUMBERS.map((n) => `old${n}`)]) await before.publish({ version })
        for (const n of NUMBERS) await before.setAlias(`gone${n}`, 'base')
        await before.publish({ version: 'expired', expiresAfterMs: 1 }, 'index.html', NOW_MS - 3 * DAY_MS)
        await before.publish({ version: 'renewed', expiresAfterMs: 1 }, 'index.html', NOW_MS - 3 * DAY_MS)
        const at = changing(meeting(store))
        await Promise.all([
          ...NUMBERS.flatMap((n) => [
            at.publish({ version: `1.${n}`, aliases: [`new${n}`] }),
            at.publish({ version: `pr-${n}`, expiresAfterMs: DAY_MS }),
            at.publish({ version: 'shared', deletes: false }, `page${n}.html`),
            at.unpublish(`old${n}`),
            at.setAlias(`set${n}`, 'base'),
            at.setAlias(`gone${n}`),
          ]),
          at.publish({ description: 'all' }),
          at.publish({ version: 'renewed' }),
          at.removeExpired(),
        ])
        const { versions, aliases, expires, latest, description, removing } = await readMeta(
          store,
          'guide',
          ROOT,
        )
        const kept = [...NUMBERS.flatMap((n) => [`1.${n}`, `pr-${n}`]), 'base', 'shared', 'renewed']
        expect(versions?.filter((version) => version !== 'expired').toSorted()).toEqual(kept.toSorted())
        expect(Object.fromEntries(aliases ?? [])).toEqual(
          Object.fromEntries(
            NUMBERS.flatMap((n) => [
              [`new${n}`, `1.${n}`],
              [`set${n}`, 'base'],
            ]),
          ),
        )
        expect(new Map([...(expires ?? [])].filter(([version]) => version !== 'expired'))).toEqual(
          new Map(NUMBERS.map((n) => [`pr-${n}`, NOW_MS + DAY_MS])),
        )
        expect({ latest, description, removing }).toEqual({ latest: '1.4', description: 'all' })
        for (const version of kept)
          expect([version, (await pathsIn(store, version)).toSorted()]).toEqual([
            version,
            version === 'shared' ? NUMBERS.map((n) => `page${n}.html`) : ['index.html'],
          ])
        expect(await pathsIn(store, '')).toEqual(['index.html'])
        for (const n of NUMBERS) expect(await pathsIn(store, `old${n}`)).toEqual([])
      },
    )

    test(
      'F39 a version that is published and unpublished at the same time is complete or not listed',
      { timeout: 120_000 },
      async () => {
        const store = await open()
        const at = changing(meeting(store))
        const listed = async () => (await readMeta(store, 'guide', ROOT)).versions ?? []
        for (const n of NUMBERS) {
          await changing(store).publish({ version: 'pr-1' })
          const { length: starts } = NUMBERS.slice(n)
          const publishing = Array.from({ length: starts }, () => at.publish({ version: 'pr-1' }))
          await Promise.all([at.unpublish('pr-1'), at.publish({ version: `1.${n}` }), ...publishing])
          if ((await listed()).includes('pr-1')) expect(await pathsIn(store, 'pr-1')).toEqual(['index.html'])
          expect(await listed()).toContain(`1.${n}`)
          expect(await pathsIn(store, `1.${n}`)).toEqual(['index.html'])
          // The last version takes the metadata with it, and the repository all versions.
          const removing = n % 2 === 0 ? [at.unpublish()] : [at.unpublish('pr-1'), at.unpublish(`1.${n}`)]
          await Promise.allSettled([...removing, at.publish({ version: `2.${n}` })])
          const left = await listed()
          for (const version of left) expect(await pathsIn(store, version)).toEqual(['index.html'])
          if (left.length === 0) continue
          await changing(store).unpublish()
          expect(await store.open(ROOT + META_FILE)).toBe('missing')
        }
      },
    )
  })
}
