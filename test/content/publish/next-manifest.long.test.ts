import { createHash } from 'node:crypto'
import { expect, test } from 'vitest'
import { contentKey } from '../../../src/content/publication/content-key.ts'
import { KeySet } from '../../../src/content/publication/key-set.ts'
import {
  formatManifest,
  type Manifest,
  NO_FILES,
  parseManifest,
  type Published,
  usedKeys,
} from '../../../src/content/publication/manifest.ts'
import type { LocalFile } from '../../../src/content/publish/list-folder.ts'
import {
  absentPaths,
  arePublished,
  isSameManifest,
  nextManifest,
  storedIndex,
} from '../../../src/content/publish/next-manifest.ts'
import { INDEX_FILE } from '../../../src/content/search/search-index.ts'
import { Random } from '../../../src/lib/random/random.ts'

const NAMES = ['a', 'A', 'b/c', 'b.html', 'é', 'e\u0301', '文', '😀', '_x', INDEX_FILE.slice(0, -1), 'zz']

function hashOf(content: string): string {
  return createHash('sha256').update(content).digest('hex')
}

/** Returns a sorted selection of files with few different contents. */
function folderOf(random: Random): readonly LocalFile[] {
  const paths = NAMES.flatMap((name) => (random.chance(0.6) ? [name, `${name}.css`] : []))
  return paths
    .toSorted((a, b) => (a < b ? -1 : 1))
    .map((path) => ({
      folder: '/site',
      path,
      size: random.below(4_000),
      sha256: hashOf(String(random.below(3))),
      stamp: '',
      changedMs: 0,
    }))
}

/** The manifest that follows, with all files in memory. */
function expectedFiles(
  before: Manifest,
  files: readonly Omit<Published, 'modified'>[],
  deletes: boolean,
  nowMs: number,
) {
  const old = new Map([...before.files.values()].map((file) => [file.path, file]))
  const next = new Map(deletes ? [] : old)
  for (const file of files) {
    const { modified = nowMs, sha256 = '' } = old.get(file.path) ?? {}
    next.set(file.path, { ...file, modified: sha256 === file.sha256 ? modified : nowMs })
  }
  return [...next.values()].toSorted((a, b) => (a.path < b.path ? -1 : 1))
}

test('each manifest of a series of publishes has the files and retired objects that the folders determine', () => {
  const random = new Random(7)
  let before: Manifest = {
    files: NO_FILES,
    retired: new Map(),
    inPlace: new Map([
      ['a', false],
      ['old', true],
    ]),
  }
  for (let nowMs = 1; nowMs < 300; nowMs++) {
    const files = folderOf(random)
    const deletes = random.chance(0.5)
    const index = { path: INDEX_FILE, size: 9, sha256: hashOf(`index ${random.below(2)}`), compressed: false }
    const there = new KeySet([contentKey(hashOf(String(random.below(9)))), ...usedKeys(before)])
    const next = nextManifest({ before, files, index, deletes, there, nowMs })
    const stored = parseManifest(formatManifest(next))
    if (stored === undefined) throw new Error('the manifest is damaged')

    const compressed = new Map([...next.files.values()].map((file) => [file.path, file.compressed]))
    const entries = files.map(({ path, size, sha256 }) => ({
      path,
      size,
      sha256,
      compressed: compressed.get(path) === true,
    }))
    expect([...stored.files.values()]).toEqual(expectedFiles(before, [...entries, index], deletes, nowMs))
    expect(stored.files.size).toBe([...stored.files.values()].length)
    const used = new Set(usedKeys(stored))
    for (const key of [...usedKeys(before), ...there])
      expect(used.has(key) || stored.retired.has(key), key).toBe(true)
    for (const key of stored.retired.keys()) expect(used.has(key), key).toBe(false)

    const local = new Set([INDEX_FILE, ...files.map(({ path }) => path)])
    const published = [...[...before.files.values()].map(({ path }) => path), ...before.inPlace.keys()]
    expect(absentPaths(before, files).toSorted()).toEqual(
      [...new Set(published)].filter((path) => !local.has(path)).toSorted(),
    )
    const hashes = new Map([...before.files.values()].map(({ path, sha256 }) => [path, sha256]))
    expect(arePublished(before, files)).toBe(files.every(({ path, sha256 }) => hashes.get(path) === sha256))
    expect(isSameManifest(next, stored)).toBe(true)
    expect(isSameManifest(before, next)).toBe(formatManifest(before).equals(formatManifest(next)))
    expect(storedIndex(stored, new KeySet(usedKeys(stored)))).toMatchObject(index)
    expect(storedIndex(stored, new KeySet())).toBeUndefined()
    before = stored
  }
})
