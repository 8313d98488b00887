import { execFileSync } from 'node:child_process'
import {
  existsSync,
  mkdirSync,
  readdirSync,
  renameSync,
  rmSync,
  statfsSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test, onTestFinished } from 'vitest'
import * as inJs from '../../../src/native/files/trash-fallback.ts'
import { moveToTrash, removeTrash, restoreFromTrash } from '../../../src/native/files/trash.ts'
import { canMount, mountFileSystem } from '../../support/files/file-systems.ts'
import { tempDir } from '../../support/temp-dir.ts'

const TRASH = '.trash-0'

describe.each([
  { name: 'addon', moveToTrash, restoreFromTrash, removeTrash },
  {
    name: 'fallback',
    moveToTrash: async (...of: Parameters<typeof inJs.moveToTrash>) => inJs.moveToTrash(...of),
    restoreFromTrash: async (...of: Parameters<typeof inJs.restoreFromTrash>) => inJs.restoreFromTrash(...of),
    removeTrash: async (...of: Parameters<typeof inJs.removeTrash>) => inJs.removeTrash(...of),
  },
])('$name', ({ moveToTrash: move, restoreFromTrash: restore, removeTrash: remove }) => {
  function place() {
    const root = tempDir()
    mkdirSync(join(root, 'uppers/demo/inner'), { recursive: true })
    writeFileSync(join(root, 'uppers/demo/inner/file'), 'x')
    mkdirSync(join(root, 'victim/demo'), { recursive: true })
    writeFileSync(join(root, 'victim/demo/file'), 'x')
    return { root, parent: 'uppers' }
  }

  test('an entry is moved to the trash, restored and deleted', async () => {
    const at = place()
    await move(at, 'demo', TRASH)
    expect(readdirSync(join(at.root, 'uppers'))).toEqual([TRASH])
    await restore(at, TRASH, 'demo')
    expect(readdirSync(join(at.root, 'uppers/demo/inner'))).toEqual(['file'])
    await move(at, 'demo', TRASH)
    await remove(at, TRASH)
    expect(readdirSync(join(at.root, 'uppers'))).toEqual([])
    await remove(at, TRASH)
  })

  test('P1 an entry that is a symlink, or is reached through one, is refused', async () => {
    const at = place()
    symlinkSync('../victim', join(at.root, 'uppers/link'))
    symlinkSync('victim', join(at.root, 'linked'))
    await expect(move(at, 'link', TRASH)).rejects.toMatchObject({ code: 'ELOOP' })
    await expect(move({ ...at, parent: 'linked' }, 'demo', TRASH)).rejects.toMatchObject({
      code: expect.stringMatching(/^(?:ELOOP|ENOTDIR)$/) as unknown,
    })
    expect(existsSync(join(at.root, 'victim/demo/file'))).toBe(true)
  })

  test.each(['', '.', '..', 'demo/inner', '../victim', '/etc', TRASH, 'demo\n/..'])(
    'P2 an invalid name is refused: %j',
    async (name) => {
      const at = place()
      await expect(move(at, name, '.trash-1')).rejects.toThrow(/EINVAL|ENOENT/)
      await expect(move({ ...at, parent: '../..' }, 'demo', TRASH)).rejects.toThrow(/EXDEV/)
      await expect(remove(at, name === TRASH ? 'demo' : name)).rejects.toThrow(/EINVAL/)
      expect(readdirSync(join(at.root, 'uppers'))).toEqual(['demo'])
    },
  )

  test('an entry never replaces another', async () => {
    const at = place()
    mkdirSync(join(at.root, 'uppers', TRASH))
    await expect(move(at, 'demo', TRASH)).rejects.toMatchObject({ code: 'EEXIST' })
    await expect(restore(at, TRASH, 'demo')).rejects.toMatchObject({ code: 'EEXIST' })
  })

  test('a missing entry is reported', async () => {
    await expect(move(place(), 'other', TRASH)).rejects.toMatchObject({ code: 'ENOENT' })
  })

  test.runIf(canMount)('P1 a mount in the path is refused, and one inside keeps its content', async () => {
    const at = place()
    const mount = (target: string, ...flags: readonly string[]): void => {
      execFileSync('mount', [...flags, target])
    }
    const unmounted = (target: string): void =>
      onTestFinished(() => void execFileSync('umount', ['-l', target]))
    mount(join(at.root, 'uppers/demo'), '-t', 'tmpfs', 'tmpfs')
    unmounted(join(at.root, 'uppers/demo'))
    await expect(move(at, 'demo', TRASH)).rejects.toMatchObject({
      code: expect.stringMatching(/EXDEV|EBUSY/) as unknown,
    })

    mkdirSync(join(at.root, 'uppers/other/bound'), { recursive: true })
    mount(join(at.root, 'uppers/other/bound'), '--bind', join(at.root, 'victim'))
    await move(at, 'other', TRASH)
    unmounted(join(at.root, 'uppers', TRASH, 'bound'))
    await expect(remove(at, TRASH)).rejects.toMatchObject({ code: 'EXDEV' })
    expect(existsSync(join(at.root, 'victim/demo/file'))).toBe(true)
  })

  test('links in a tree are removed, but not their targets', async () => {
    const at = place()
    symlinkSync('../../victim', join(at.root, 'uppers/demo/link'))
    await move(at, 'demo', TRASH)
    await remove(at, TRASH)
    expect(readdirSync(join(at.root, 'uppers'))).toEqual([])
    expect(existsSync(join(at.root, 'victim/demo/file'))).toBe(true)
  })

  test('a tree of 500 levels with arbitrary names is deleted', async () => {
    const at = place()
    const deep = join(at.root, 'uppers/demo', 'd/'.repeat(500))
    mkdirSync(deep, { recursive: true })
    writeFileSync(Buffer.concat([Buffer.from(deep), Buffer.from([0xff, 0x0a, 0xc3])]), '')
    await move(at, 'demo', TRASH)
    await remove(at, TRASH)
    expect(readdirSync(join(at.root, 'uppers'))).toEqual([])
  })

  test('P1 swapping directories for links deletes nothing outside the tree', async () => {
    const at = place()
    const victims = Array.from({ length: 20 }, (_, i) => `f${i}`)
    for (const name of victims) writeFileSync(join(at.root, 'victim', name), '')
    for (let round = 0; round < 30; round++) {
      const tree = join(at.root, 'uppers/demo/d')
      mkdirSync(tree, { recursive: true })
      for (const name of victims) writeFileSync(join(tree, name), '')
      await move(at, 'demo', TRASH)
      const removal = remove(at, TRASH).catch(() => undefined)
      try {
        renameSync(join(at.root, 'uppers', TRASH, 'd'), join(at.root, `moved-${round}`))
        symlinkSync('../../victim', join(at.root, 'uppers', TRASH, 'd'))
      } catch {
        // It no longer exists.
      }
      await removal
      rmSync(join(at.root, 'uppers', TRASH), { recursive: true, force: true })
    }
    expect(readdirSync(join(at.root, 'victim'))).toEqual(expect.arrayContaining(victims))
  })

  test.runIf(canMount).each(['bytes', 'inodes'] as const)(
    'F5 F11 an entry is deleted on a disk without free %s',
    async (what) => {
      const disk = mountFileSystem('ext4', 8 * 2 ** 20, ...(what === 'inodes' ? ['-N', '64'] : []))
      mkdirSync(join(disk, 'uppers/demo/inner'), { recursive: true })
      writeFileSync(join(disk, 'uppers/demo/inner/file'), 'x')
      fill(disk, what)
      const at = { root: disk, parent: 'uppers' }
      await move(at, 'demo', TRASH)
      await remove(at, TRASH)
      expect(readdirSync(join(disk, 'uppers'))).toEqual([])
    },
  )
})

function fill(disk: string, what: 'bytes' | 'inodes'): void {
  const { bavail, bsize } = statfsSync(disk)
  for (let i = 0; i < 100_000; i++) {
    try {
      writeFileSync(
        join(disk, `filler-${i}`),
        what === 'bytes' ? Buffer.alloc(i === 0 ? bavail * bsize : 4096) : '',
      )
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === 'ENOSPC') return
      throw error
    }
  }
  throw new Error('the disk does not become full')
}
