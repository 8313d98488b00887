import { expect, test } from 'vitest'
import { fc } from '../../support/fast-check.ts'
import { formatManifest, IndexedManifest } from '../../../src/content/publication/manifest.ts'
import { Publication } from '../../../src/content/publication/publications.ts'

const LETTERS = ['a', '/', 'é', 'e\u0301', 'o\u0308', 'ö', '\u212b', 'A\u030a', '가', '\u1100\u1161', '文']
const path = fc
  .array(fc.constantFrom(...LETTERS), { minLength: 1, maxLength: 6 })
  .map((letters) => `x${letters.join('')}`)

function publication(paths: readonly string[]): Publication {
  const files = paths
    .toSorted((a, b) => (a < b ? -1 : 1))
    .map((each) => ({ path: each, size: 1, sha256: '0'.repeat(64), compressed: false, modified: 0 }))
  const manifest = {
    files: { size: files.length, values: () => files },
    retired: new Map(),
    inPlace: new Map(),
  }
  const parsed = IndexedManifest.parse(formatManifest(manifest))
  if (parsed === undefined) throw new Error('the manifest is damaged')
  return new Publication('"1"', parsed)
}

test('a file is found by its name in every form of Unicode, and no other file is', () => {
  fc.assert(
    fc.property(fc.uniqueArray(path, { selector: (each) => each.normalize('NFC') }), path, (paths, asked) => {
      const published = publication(paths)
      for (const each of paths)
        for (const form of [each, each.normalize('NFC'), each.normalize('NFD')]) {
          expect(published.find(form)?.path).toBe(each)
          expect(published.find(form)).toBe(published.find(each))
        }
      const expected = paths.find((each) => each.normalize('NFC') === asked.normalize('NFC'))
      expect(published.find(asked)?.path).toBe(expected)
    }),
  )
})

test('a name in another form of Unicode is found among thousands of others, and counts as memory', () => {
  const many = Array.from({ length: 3_000 }, (_, at) => `page-${at}.html`)
  const plain = publication([...many, 'x\u00e9.html'])
  const published = publication([...many, 'xe\u0301.html', 'zz문'])
  expect(published.find('x\u00e9.html')?.path).toBe('xe\u0301.html')
  expect(published.find('page-2999.html')?.path).toBe('page-2999.html')
  expect(published.byteLength - plain.byteLength).toBeGreaterThan(300)
})

test('of two files whose names differ only in their form, each is found by its own', () => {
  const both = ['xé', 'xe\u0301']
  const published = publication(both)
  for (const each of both) expect(published.find(each)?.path).toBe(each)
})
