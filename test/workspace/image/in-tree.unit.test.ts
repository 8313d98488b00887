import { fc } from '../../support/fast-check.ts'
import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { directoryInTree, kindInTree, pathInTree } from '../../../src/workspace/image/convert/in-tree.ts'
import { tempDir } from '../../support/temp-dir.ts'
import { rounds } from '../../support/rounds.ts'

/** An image with links of every kind. */
function tree(): string {
  const root = join(tempDir(), 'tree')
  mkdirSync(join(root, 'usr/lib/modules'), { recursive: true })
  mkdirSync(join(root, 'etc'))
  writeFileSync(join(root, 'usr/lib/file'), '')
  const links = {
    lib: 'usr/lib',
    out: '../../../../../../etc',
    absolute: '/etc',
    'usr/up': '../..',
    one: 'two',
    two: 'one',
    self: '.',
  }
  for (const [name, target] of Object.entries(links)) symlinkSync(target, join(root, name))
  return root
}

test.each([
  ['/lib/modules', 'usr/lib/modules'],
  ['lib/file', 'usr/lib/file'],
  ['/out/passwd', 'etc/passwd'],
  ['/absolute/shadow', 'etc/shadow'],
  ['/../../etc', 'etc'],
  ['/usr/up/up/etc', 'up/etc'],
  ['/self/self/etc', 'etc'],
  ['/not/there/yet', 'not/there/yet'],
  ['/', ''],
])('the path %s of an image resolves to %s in its tree', (path, to) => {
  const root = tree()
  expect(pathInTree(root, path)).toBe(join(root, to))
})

test('a link cycle is reported', () => {
  expect(() => pathInTree(tree(), '/one/x')).toThrow('contains a link cycle')
})

test('every created or inspected path is in the tree', () => {
  const root = tree()
  expect(directoryInTree(root, '/out/new/deep')).toBe(join(root, 'etc/new/deep'))
  expect([
    kindInTree(root, '/absolute/new'),
    kindInTree(root, '/lib/file'),
    kindInTree(root, '/lib/none'),
  ]).toEqual(['directory', 'file', undefined])
})

test('no path leaves the tree', () => {
  const root = tree()
  const part = fc.constantFrom('..', '.', '', 'lib', 'out', 'absolute', 'usr', 'up', 'self', 'etc', 'x')
  fc.assert(
    fc.property(fc.array(part, { maxLength: 12 }), (parts) => {
      const found = pathInTree(root, parts.join('/'))
      expect(found === root || found.startsWith(`${root}/`)).toBe(true)
    }),
    { numRuns: rounds(400, 2_000) },
  )
})
