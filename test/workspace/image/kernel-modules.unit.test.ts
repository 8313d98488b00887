import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { gzipSync } from 'node:zlib'
import { expect, test } from 'vitest'
import { modulesToLoad } from '../../../src/workspace/image/convert/kernel-modules.ts'
import { tempDir } from '../../support/temp-dir.ts'

/** A kernel's module directory, with some modules built in. */
function modules(
  needs: Readonly<Record<string, readonly string[]>>,
  builtIn: readonly string[] = [],
): string {
  const directory = tempDir()
  mkdirSync(join(directory, 'kernel'))
  const path = (name: string): string => `kernel/${name}.ko`
  for (const name of Object.keys(needs)) writeFileSync(join(directory, path(name)), `module ${name}`)
  const lines = Object.entries(needs).map(([name, of]) => `${path(name)}: ${of.map(path).join(' ')}\n`)
  writeFileSync(join(directory, 'modules.dep'), lines.join(''))
  writeFileSync(join(directory, 'modules.builtin'), builtIn.map((name) => `${path(name)}\n`).join(''))
  return directory
}

test('every module follows its dependencies once, and built-in ones are left out', () => {
  const directory = modules(
    {
      virtio_blk: ['virtio', 'virtio_ring'],
      virtio: ['virtio_ring'],
      virtio_ring: [],
      virtio_pci: ['virtio'],
      overlay: [],
      'virtio-rng': ['virtio'],
      usb_storage: [],
    },
    ['ext4', 'virtio_mmio'],
  )
  const loaded = modulesToLoad((path) => join(directory, path))
  expect(loaded.map(({ name }) => name)).toEqual([
    'virtio_ring',
    'virtio',
    'virtio_blk',
    'overlay',
    'virtio_pci',
    'virtio_rng',
  ])
  expect(loaded[0]?.content.toString()).toBe('module virtio_ring')
})

test('a compressed module is unpacked, and a dependency cycle terminates', () => {
  const directory = modules({ virtio_blk: ['virtio_pci'], virtio_pci: ['virtio_blk'] }, ['ext4', 'overlay'])
  writeFileSync(join(directory, 'kernel/virtio_pci.ko'), gzipSync('packed'))
  const loaded = modulesToLoad((path) => join(directory, path))
  expect(loaded.map(({ name }) => name)).toEqual(['virtio_pci', 'virtio_blk'])
  expect(loaded[0]?.content.toString()).toBe('packed')
})

test.each([
  ['virtio_blk', ['ext4', 'overlay', 'virtio_pci'], /has no virtio_blk/],
  ['any transport', ['ext4', 'overlay', 'virtio_blk'], /has no virtio_pci or virtio_mmio/],
])('a kernel without %s is refused', (_what, builtIn, says) => {
  const directory = modules({}, builtIn)
  expect(() => modulesToLoad((path) => join(directory, path))).toThrow(says)
})

test('a directory without modules.dep fails with a remedy', () => {
  expect(() => modulesToLoad((path) => join('/no/such', path))).toThrow(/modules\.dep is missing; run depmod/)
})
