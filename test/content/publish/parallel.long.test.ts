import { execFile } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { expect, test } from 'vitest'
import { setAlias } from '../../../src/content/publish/alias.ts'
import { publish } from '../../../src/content/publish/publish.ts'
import { unpublish } from '../../../src/content/publish/unpublish.ts'
import { readMeta } from '../../../src/content/repo/stored-meta.ts'
import { FsStore } from '../../../src/content/store/fs-store.ts'
import type { Store } from '../../../src/content/store/store.ts'
import { startContent } from '../../support/content/content-server.ts'
import { parallelSuite } from '../../support/content/parallel-suite.ts'
import { tempDir } from '../../support/temp-dir.ts'

parallelSuite('fs', async () => new FsStore(tempDir()))

const ROOT = 'repos/guide/'

function publishVersion(store: Store, version?: string) {
  const folder = tempDir()
  writeFileSync(join(folder, 'index.html'), 'page')
  return publish({ folder, repo: 'guide', version, deletes: true }, { store, nowMs: Date.now() })
}

/** Returns a store with some operations replaced. */
function changed(store: Store, more: Partial<Store>): Store {
  return new Proxy(store, {
    get(target, name) {
      const value: unknown = Reflect.get(more, name) ?? Reflect.get(target, name)
      return typeof value === 'function' ? value.bind(target) : value
    },
  })
}

test('F39 several processes change aliases of one repository at the same time', async () => {
  const root = tempDir()
  const store = new FsStore(root)
  await publishVersion(store, '1.0')
  const child = fileURLToPath(new URL('../../support/content/alias-child.ts', import.meta.url))
  const names = ['a', 'b', 'c', 'd']
  await Promise.all(names.map((name) => promisify(execFile)(process.execPath, [child, root, name, '20'])))
  const { aliases } = await readMeta(store, 'guide', ROOT)
  expect([...(aliases?.keys() ?? [])].toSorted()).toEqual(
    names.flatMap((name) => Array.from({ length: 20 }, (_, n) => `${name}-${n}`)).toSorted(),
  )
})

test('a change that loses every race fails and names the object', async () => {
  const store = new FsStore(tempDir())
  await publishVersion(store, '1.0')
  const losing = changed(store, { replace: async () => 'changed' })
  await expect(setAlias({ repo: 'guide', alias: 'stable', version: '1.0' }, losing)).rejects.toMatchObject({
    code: 'PUBLISH_CONFLICT',
    message: expect.stringContaining('"repos/guide/_meta.json"'),
  })
})

test('a change that the store has made but not confirmed is not repeated', async () => {
  const store: Store = new FsStore(tempDir())
  await publishVersion(store, '1.0')
  await setAlias({ repo: 'guide', alias: 'stable', version: '1.0' }, store)
  // A client that repeats a request after a lost response is refused because of the first one.
  const forgetful = changed(store, {
    async replace(...given) {
      await store.replace(...given)
      return 'changed'
    },
  })
  await setAlias({ repo: 'guide', alias: 'stable', version: undefined }, forgetful)
  expect((await readMeta(store, 'guide', ROOT)).aliases).toBeUndefined()
})

test.each([
  ['1.0', 'content-server unpublish guide --version 1.0'],
  [undefined, 'content-server unpublish guide"'],
])(
  'an interrupted unpublish of version %s can be completed, and refuses a publish until then',
  async (version, remedy) => {
    const { ask, store } = await startContent({}, { settings: { cache: { ttl: '0s', negative_ttl: '0s' } } })
    for (const each of ['1.0', '2.0']) await publishVersion(store, each)
    const failing = changed(store, { remove: () => Promise.reject(new Error('the store fails')) })
    await expect(unpublish({ repo: 'guide', version }, failing)).rejects.toThrow('the store fails')
    await expect(publishVersion(store, '1.0')).rejects.toMatchObject({
      code: 'PUBLISH_CONFLICT',
      message: expect.stringContaining(remedy),
    })
    const [repo] = (await (await ask('/_api/repos')).json()) as readonly Record<string, unknown>[]
    expect(repo).toMatchObject({ name: 'guide' })
    expect(repo?.['versions']).toEqual(version === undefined ? undefined : ['2.0'])
    expect(repo).not.toHaveProperty('removing')
    await unpublish({ repo: 'guide', version }, store)
    await publishVersion(store, '1.0')
    expect((await readMeta(store, 'guide', ROOT)).versions).toContain('1.0')
  },
)

test('a publish waits for an unpublish of its version', async () => {
  const store = new FsStore(tempDir())
  await publishVersion(store, '1.0')
  let publishing: Promise<unknown> | undefined
  const watched = changed(store, {
    async remove(key) {
      publishing ??= publishVersion(store, '1.0')
      await store.remove(key)
    },
  })
  await unpublish({ repo: 'guide', version: '1.0' }, watched)
  await publishing
  expect((await readMeta(store, 'guide', ROOT)).versions).toEqual(['1.0'])
  expect(await store.open(`${ROOT}1.0/_files.json`)).not.toBe('missing')
})
