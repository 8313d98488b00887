import { execFileSync } from 'node:child_process'
import { linkSync, mkdirSync, symlinkSync, truncateSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { Worker } from 'node:worker_threads'
import { describe, expect, it, onTestFinished } from 'vitest'
import { walkTrees } from '../../../src/native/files/disk.ts'
import { loadAddon } from '../../../src/native/load.ts'
import { duLogicalBytes, duPhysicalBytes } from '../../support/files/du.ts'
import { tempDir } from '../../support/temp-dir.ts'
import { walkTree, walkTreeInJs } from '../../support/files/walk.ts'

const isRoot = process.getuid?.() === 0
const isLinux = process.platform === 'linux'

it('addon is built where the tests run', () => {
  expect(loadAddon()).toMatchObject({ is: 'loaded' })
})

describe.each([
  { name: 'addon', walk: walkTree },
  { name: 'addon on one thread', walk: (path: string) => walkTree(path, { threads: 1 }) },
  { name: 'fallback', walk: walkTreeInJs },
])('$name', ({ walk }) => {
  async function expectSameAsDu(path: string): ReturnType<typeof walk> {
    const totals = await walk(path)
    expect(totals.physicalBytes).toBe(duPhysicalBytes(path))
    expect(totals.logicalBytes).toBe(duLogicalBytes(path))
    expect(totals.unreadable).toBe(0)
    return totals
  }

  it('walk counts files and directories', async () => {
    const root = tempDir()
    mkdirSync(join(root, 'a/b'), { recursive: true })
    writeFileSync(join(root, 'a/one'), 'x'.repeat(10_000))
    writeFileSync(join(root, 'a/b/two'), '')
    expect(await expectSameAsDu(root)).toMatchObject({ files: 2, directories: 3, logicalBytes: 10_000 })
  })

  it('walk counts an empty directory', async () => {
    expect(await expectSameAsDu(tempDir())).toMatchObject({ files: 0, directories: 1, logicalBytes: 0 })
  })

  it('walk counts only what a sparse file has allocated as physical', async () => {
    const root = tempDir()
    writeFileSync(join(root, 'sparse'), 'head')
    truncateSync(join(root, 'sparse'), 5 * 2 ** 30)
    const totals = await expectSameAsDu(root)
    expect(totals.logicalBytes).toBe(5 * 2 ** 30)
    expect(totals.physicalBytes).toBeLessThan(2 ** 20)
  })

  it('walk counts a hard-linked file once when its names are in several directories', async () => {
    const root = tempDir()
    for (const name of ['a', 'b', 'c']) mkdirSync(join(root, name))
    writeFileSync(join(root, 'a/file'), 'x'.repeat(9000))
    for (const name of ['a/again', 'b/file', 'c/file']) linkSync(join(root, 'a/file'), join(root, name))
    expect(await expectSameAsDu(root)).toMatchObject({ files: 1, logicalBytes: 9000 })
  })

  it('walk follows no symlink to a directory, to its parent or to a missing target', async () => {
    const root = tempDir()
    mkdirSync(join(root, 'real'))
    writeFileSync(join(root, 'real/file'), 'abc')
    symlinkSync('real', join(root, 'directory'))
    symlinkSync('..', join(root, 'real/loop'))
    symlinkSync('/usr', join(root, 'outside'))
    symlinkSync('nowhere', join(root, 'dangling'))
    symlinkSync('x'.repeat(500), join(root, 'long'))
    expect(await expectSameAsDu(root)).toMatchObject({ files: 6, directories: 2 })
  })

  it('walk counts the root itself when it is a file or a symlink', async () => {
    const root = tempDir()
    writeFileSync(join(root, 'file'), 'abc')
    symlinkSync('file', join(root, 'link'))
    expect(await walk(join(root, 'file'))).toMatchObject({ files: 1, directories: 0, logicalBytes: 3 })
    expect(await walk(join(root, 'link'))).toMatchObject({ files: 1, directories: 0, logicalBytes: 4 })
  })

  it('walk reaches the end when directories are nested 1,000 deep', { tags: ['long'] }, async () => {
    const root = tempDir()
    mkdirSync(join(root, 'd/'.repeat(1000)), { recursive: true })
    writeFileSync(join(root, 'd/'.repeat(1000), 'leaf'), 'x')
    expect(await expectSameAsDu(root)).toMatchObject({ files: 1, directories: 1001 })
  })

  it(
    'walk counts a directory of 5,000 long names, which no single read returns',
    { tags: ['long'] },
    async () => {
      const root = tempDir()
      for (let i = 0; i < 5000; i++) symlinkSync('x', join(root, `${i}-${'n'.repeat(200)}`))
      expect((await expectSameAsDu(root)).files).toBe(5000)
    },
  )

  it.runIf(isLinux)('walk counts entries when names contain a newline or invalid UTF-8', async () => {
    const root = tempDir()
    mkdirSync(Buffer.concat([Buffer.from(`${root}/dir\n`), Buffer.from([0xff, 0xc3])]))
    writeFileSync(
      Buffer.concat([Buffer.from(`${root}/dir\n`), Buffer.from([0xff, 0xc3]), Buffer.from('/\x80é\n')]),
      'abc',
    )
    writeFileSync(Buffer.concat([Buffer.from(`${root}/`), Buffer.from([0xe9, 0x0a])]), 'x')
    expect(await walk(root)).toMatchObject({
      files: 2,
      directories: 2,
      logicalBytes: 4,
      physicalBytes: duPhysicalBytes(root),
    })
  })

  it('walk never fails when entries vanish under it', async () => {
    const root = tempDir()
    const churn = new Worker(
      `const fs = require('node:fs')
       const { workerData: root } = require('node:worker_threads')
       for (let i = 0; ; i++) {
         const dir = root + '/' + (i % 50)
         fs.mkdirSync(dir + '/inner', { recursive: true })
         fs.writeFileSync(dir + '/inner/file', 'x')
         fs.rmSync(dir, { recursive: true })
       }`,
      { eval: true, workerData: root },
    )
    onTestFinished(async () => void (await churn.terminate()))
    await new Promise((resolve) => churn.once('online', resolve))
    for (let round = 0; round < 300; round++) {
      const totals = await walk(root)
      expect(totals.directories).toBeGreaterThan(0)
      expect(totals.unreadable).toBe(0)
    }
    await churn.terminate()
  })

  it.runIf(isRoot && isLinux)('walk does not enter mounts below the root', async () => {
    const root = tempDir()
    mkdirSync(join(root, 'real'))
    writeFileSync(join(root, 'real/file'), 'x'.repeat(5000))
    for (const [name, args] of [
      ['tmpfs', ['-t', 'tmpfs', 'tmpfs']],
      ['bind with space', ['--bind', join(root, 'real')]],
    ] as const) {
      mkdirSync(join(root, name))
      execFileSync('mount', [...args, join(root, name)])
      onTestFinished(() => void execFileSync('umount', [join(root, name)]))
      writeFileSync(join(root, name, 'inside'), 'x'.repeat(100_000))
    }
    const totals = await walk(root)
    // The bind mount wrote through to `real`.
    expect(totals).toMatchObject({ files: 2, directories: 2, logicalBytes: 105_000 })
  })

  it.each(['', 'missing', 'missing/below', 'file/below'])(
    'walk throws when the root is "%s"',
    async (name) => {
      const root = tempDir()
      writeFileSync(join(root, 'file'), '')
      const path = name === '' ? '' : join(root, name)
      const code = name === 'file/below' ? 'ENOTDIR' : 'ENOENT'
      await expect(walk(path)).rejects.toMatchObject({
        code,
        message: expect.stringContaining('stat') as unknown,
      })
    },
  )
})

it.each([-1, 65, Number.NaN])('addon refuses %d threads', async (threads) => {
  await expect(walkTree('/', { threads })).rejects.toThrow(RangeError)
})

it('walk rejects soon with the reason when cancelled', async () => {
  const stop = new AbortController()
  const walking = walkTrees(['/usr', '/'], { signal: stop.signal })
  stop.abort(new Error('enough'))
  await expect(walking).rejects.toThrow('enough')
})

it('walk throws when the path contains a NUL', async () => {
  await expect(walkTree('/tmp\0/x')).rejects.toThrow(TypeError)
})
