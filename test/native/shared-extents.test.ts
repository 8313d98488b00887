import { execFileSync } from 'node:child_process'
import { linkSync, mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { walkTrees } from '../../src/native/files/disk.ts'
import { canMount, mountFileSystem } from '../support/files/file-systems.ts'

const MIB = 2 ** 20

test.runIf(canMount).each(['xfs', 'btrfs'] as const)(
  'walkTrees reports extents shared by reflinks on %s, once per additional use',
  async (kind) => {
    const disk = mountFileSystem(kind)
    for (const name of ['one', 'two', 'three']) mkdirSync(join(disk, name))
    const original = join(disk, 'one', 'original')
    writeFileSync(original, Buffer.alloc(8 * MIB, 'x'))
    const copy = (to: string): void => void execFileSync('cp', ['--reflink=always', original, join(disk, to)])
    copy('one/copy')
    copy('two/copy')
    writeFileSync(join(disk, 'three', 'own'), Buffer.alloc(4 * MIB, 'y'))
    execFileSync('sync', ['-f', disk])

    const trees = ['one', 'two', 'three'].map((name) => join(disk, name))
    const all = await walkTrees(trees)
    expect(all.sharedBytes).toBe(16 * MIB)
    const [one] = all.trees
    expect(one).toMatchObject({ is: 'measured', files: 2, logicalBytes: 16 * MIB })
    // Extents shared with files outside the tree do not count.
    expect((await walkTrees([join(disk, 'two')])).sharedBytes).toBe(0)
    expect((await walkTrees([join(disk, 'one')])).sharedBytes).toBe(8 * MIB)
    expect((await walkTrees(trees, { extentsFromBytes: 9 * MIB })).sharedBytes).toBe(0)

    // The third name of the shared extents is the same file, and therefore shares no more.
    linkSync(original, join(disk, 'three', 'linked'))
    expect((await walkTrees(trees)).sharedBytes).toBe(24 * MIB)
  },
)

test.runIf(canMount)('walkTrees reports the shared part of partially shared files', async () => {
  const disk = mountFileSystem('xfs')
  writeFileSync(join(disk, 'original'), Buffer.alloc(8 * MIB, 'x'))
  execFileSync('cp', ['--reflink=always', join(disk, 'original'), join(disk, 'copy')])
  execFileSync(
    'dd',
    ['if=/dev/urandom', `of=${join(disk, 'copy')}`, 'bs=1M', 'count=3', 'seek=2', 'conv=notrunc'],
    {
      stdio: 'ignore',
    },
  )
  execFileSync('sync', ['-f', disk])
  expect((await walkTrees([disk])).sharedBytes).toBe(5 * MIB)
})
