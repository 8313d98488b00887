import {
  chmodSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { ConfinedTree } from '../../../src/lib/fs/confined-tree.ts'
import { tempDir } from '../../support/temp-dir.ts'

const PROPERTIES = { mode: 0o640, mtimeMs: 1_000_000_000_000 }

async function openTree() {
  const outer = tempDir()
  const root = join(outer, 'root')
  mkdirSync(root)
  writeFileSync(join(outer, 'outside'), 'untouched')
  const tree = await ConfinedTree.open(root)
  onTestFinished(() => tree.close())
  return { tree, root, outer }
}

async function* content(...parts: readonly (string | Buffer)[]): AsyncGenerator<Buffer> {
  for (const part of parts) yield Buffer.from(part)
}

test('a tree creates files with their modes, times and missing directories', async () => {
  const { tree, root } = await openTree()
  await tree.directory('d', { ...PROPERTIES, mode: 0o550 })
  await tree.file('d/f', content('one', 'two'), { ...PROPERTIES, mode: 0o4751 })
  await tree.file('x/y/z', content(), PROPERTIES)
  await tree.close()
  expect(readFileSync(join(root, 'd/f'), 'utf8')).toBe('onetwo')
  expect(statSync(join(root, 'd/f')).mode & 0o7777).toBe(0o751)
  expect(statSync(join(root, 'd/f')).mtimeMs).toBe(PROPERTIES.mtimeMs)
  expect(statSync(join(root, 'd')).mode & 0o7777).toBe(0o550)
  expect(statSync(join(root, 'd')).mtimeMs).toBe(PROPERTIES.mtimeMs)
  expect(readdirSync(join(root, 'x/y'))).toEqual(['z'])
  chmodSync(join(root, 'd'), 0o700)
})

test.each([
  '../outside',
  '/tmp/outside',
  'a/../../outside',
  'a/..',
  'nul\0',
  'n'.repeat(256),
  'a/'.repeat(300) + 'b',
])('a tree refuses the path %j', async (path) => {
  const { tree, outer, root } = await openTree()
  const refusal = /outside the target|levels|more than 255 bytes/
  await expect(tree.file(path, content('x'), PROPERTIES)).rejects.toThrow(refusal)
  await expect(tree.directory(path, PROPERTIES)).rejects.toThrow(refusal)
  await expect(tree.link(path, 'x')).rejects.toThrow(refusal)
  await expect(tree.hardlink('h', path)).rejects.toThrow(refusal)
  expect(readdirSync(root)).toEqual([])
  expect(readFileSync(join(outer, 'outside'), 'utf8')).toBe('untouched')
})

test('a tree follows neither its own links nor existing ones', async () => {
  const { tree, root, outer } = await openTree()
  await tree.link('up', '..')
  symlinkSync(outer, join(root, 'existing'))
  for (const link of ['up', 'existing']) {
    await expect(tree.file(`${link}/outside`, content('x'), PROPERTIES)).rejects.toThrow(/ENOTDIR|ELOOP/)
    await expect(tree.directory(`${link}/made`, PROPERTIES)).rejects.toThrow(/ENOTDIR|ELOOP/)
    await expect(tree.directory(link, PROPERTIES)).rejects.toThrow(/ENOTDIR|ELOOP/)
    await expect(tree.hardlink('h', `${link}/outside`)).rejects.toThrow(/ENOTDIR|ELOOP/)
  }
  expect(readdirSync(outer).toSorted()).toEqual(['outside', 'root'])
  expect(readFileSync(join(outer, 'outside'), 'utf8')).toBe('untouched')
})

test('a tree replaces links and files instead of writing through them', async () => {
  const { tree, root, outer } = await openTree()
  await tree.link('f', '../outside')
  await tree.file('f', content('new'), PROPERTIES)
  expect(lstatSync(join(root, 'f')).isFile()).toBe(true)
  await tree.hardlink('g', 'f')
  expect(statSync(join(root, 'g')).ino).toBe(statSync(join(root, 'f')).ino)
  await tree.hardlink('g', 'f')
  await tree.file('g', content('other'), PROPERTIES)
  expect(readFileSync(join(root, 'f'), 'utf8')).toBe('new')
  await tree.link('g', '/nowhere')
  expect(readlinkSync(join(root, 'g'))).toBe('/nowhere')
  await expect(tree.hardlink('h', 'g')).rejects.toThrow('not a regular file')
  expect(readFileSync(join(outer, 'outside'), 'utf8')).toBe('untouched')
  expect(readdirSync(root).toSorted()).toEqual(['f', 'g'])
})

test('a tree keeps existing directories with their modes, and never replaces them by files', async () => {
  const { tree, root } = await openTree()
  mkdirSync(join(root, 'd'), { mode: 0o711 })
  await tree.directory('d', PROPERTIES)
  await expect(tree.file('d', content('x'), PROPERTIES)).rejects.toThrow('EISDIR')
  await tree.close()
  expect(statSync(join(root, 'd')).mode & 0o777).toBe(0o711)
  expect(readdirSync(root)).toEqual(['d'])
})

test('a file that fails in the middle leaves nothing', async () => {
  const { tree, root } = await openTree()
  await tree.file('f', content('old'), PROPERTIES)
  const broken = async function* () {
    yield Buffer.from('half')
    throw new Error('cut off')
  }
  await expect(tree.file('f', broken(), PROPERTIES)).rejects.toThrow('cut off')
  expect(readdirSync(root)).toEqual(['f'])
  expect(readFileSync(join(root, 'f'), 'utf8')).toBe('old')
})

test('long runs of zeros become holes, also at the end', async () => {
  const { tree, root } = await openTree()
  const zeros = Array.from({ length: 512 }, () => Buffer.alloc(64 * 1024))
  await tree.file('sparse', content(...zeros, 'middle', ...zeros), PROPERTIES)
  const { size, blocks } = statSync(join(root, 'sparse'))
  expect(size).toBe(2 * 512 * 64 * 1024 + 6)
  expect(blocks * 512).toBeLessThan(1024 * 1024)
})
