import { execFileSync } from 'node:child_process'
import { linkSync, mkdirSync, symlinkSync, truncateSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { Worker } from 'node:worker_threads'
import { describe, expect, it, onTestFinished } from 'vitest'
import { walkTreeInJs } from '../../src/native/disk-fallback.ts'
import { walkTree } from '../../src/native/disk.ts'
import { loadAddon } from '../../src/native/load.ts'
import { duLogicalBytes, duPhysicalBytes } from '../support/du.ts'
import { tempDir } from '../support/temp-dir.ts'

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
  function expectSameAsDu(path: string): ReturnType<typeof walk> {
    const totals = walk(path)
    expect(totals.physicalBytes).toBe(duPhysicalBytes(path))
    expect(totals.logicalBytes).toBe(duLogicalBytes(path))
    expect(totals.unreadable).toBe(0)
    return totals
  }

  it('walk counts files and directories', () => {
    const root = tempDir()
    mkdirSync(join(root, 'a/b'), { recursive: true })
    writeFileSync(join(root, 'a/one'), 'x'.repeat(10_000))
    writeFileSync(join(root, 'a/b/two'), '')
    expect(expectSameAsDu(root)).toMatchObject({ files: 2, directories: 3, logicalBytes: 10_000 })
  })

  it('walk counts an empty directory', () => {
    expect(expectSameAsDu(tempDir())).toMatchObject({ files: 0, directories: 1, logicalBytes: 0 })
  })

  it('walk counts only what a sparse file has allocated as physical', () => {
    const root = tempDir()
    writeFileSync(join(root, 'sparse'), 'head')
    truncateSync(join(root, 'sparse'), 5 * 2 ** 30)
    const totals = expectSameAsDu(root)
    expect(totals.logicalBytes).toBe(5 * 2 ** 30)
    expect(totals.physicalBytes).toBeLessThan(2 ** 20)
  })

  it('walk counts a hard-linked file once when its names are in several directories', () => {
    const root = tempDir()
    for (const name of ['a', 'b', 'c']) mkdirSync(join(root, name))
    writeFileSync(join(root, 'a/file'), 'x'.repeat(9000))
    for (const name of ['a/again', 'b/file', 'c/file']) linkSync(join(root, 'a/file'), join(root, name))
    expect(expectSameAsDu(root)).toMatchObject({ files: 1, logicalBytes: 9000 })
  })

  it('walk follows no symlink when it points to a directory, to its parent or nowhere', () => {
    const root = tempDir()
    mkdirSync(join(root, 'real'))
    writeFileSync(join(root, 'real/file'), 'abc')
    symlinkSync('real', join(root, 'directory'))
    symlinkSync('..', join(root, 'real/loop'))
    symlinkSync('/usr', join(root, 'outside'))
    symlinkSync('nowhere', join(root, 'dangling'))
    symlinkSync('x'.repeat(500), join(root, 'long'))
    expect(expectSameAsDu(root)).toMatchObject({ files: 6, directories: 2 })
  })

  it('walk counts the root itself when it is a file or a symlink', () => {
    const root = tempDir()
    writeFileSync(join(root, 'file'), 'abc')
    symlinkSync('file', join(root, 'link'))
    expect(walk(join(root, 'file'))).toMatchObject({ files: 1, directories: 0, logicalBytes: 3 })
    expect(walk(join(root, 'link'))).toMatchObject({ files: 1, directories: 0, logicalBytes: 4 })
  })

  it('walk reaches the end when directories are nested 1,000 deep', () => {
    const root = tempDir()
    mkdirSync(join(root, 'd/'.repeat(1000)), { recursive: true })
    writeFileSync(join(root, 'd/'.repeat(1000), 'leaf'), 'x')
    expect(expectSameAsDu(root)).toMatchObject({ files: 1, directories: 1001 })
  })

  it('walk counts a directory of 5,000 long names, which no single read returns', () => {
    const root = tempDir()
    for (let i = 0; i < 5000; i++) symlinkSync('x', join(root, `${i}-${'n'.repeat(200)}`))
    expect(expectSameAsDu(root).files).toBe(5000)
  })

  it.runIf(isLinux)('walk counts entries when names hold a newline or are no UTF-8', () => {
    const root = tempDir()
    mkdirSync(Buffer.concat([Buffer.from(`${root}/dir\n`), Buffer.from([0xff, 0xc3])]))
    writeFileSync(
      Buffer.concat([Buffer.from(`${root}/dir\n`), Buffer.from([0xff, 0xc3]), Buffer.from('/\x80é\n')]),
      'abc',
    )
    writeFileSync(Buffer.concat([Buffer.from(`${root}/`), Buffer.from([0xe9, 0x0a])]), 'x')
    expect(walk(root)).toMatchObject({
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
    const endMs = performance.now() + 1500
    while (performance.now() < endMs) {
      const totals = walk(root)
      expect(totals.directories).toBeGreaterThan(0)
      expect(totals.unreadable).toBe(0)
    }
    await churn.terminate()
  })

  it.runIf(isRoot && isLinux)('walk stays out of mounts below the root', () => {
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
    const totals = walk(root)
    // The bind mount wrote through to `real`.
    expect(totals).toMatchObject({ files: 2, directories: 2, logicalBytes: 105_000 })
  })

  it.each(['', 'missing', 'missing/below', 'file/below'])('walk throws when the root is "%s"', (name) => {
    const root = tempDir()
    writeFileSync(join(root, 'file'), '')
    const path = name === '' ? '' : join(root, name)
    expect(() => walk(path)).toThrow(
      expect.objectContaining({
        code: name === 'file/below' ? 'ENOTDIR' : 'ENOENT',
        errno: name === 'file/below' ? -20 : -2,
        syscall: expect.stringMatching(/stat/) as unknown,
        path,
      }),
    )
  })

  it('walk throws when the path holds a NUL', () => {
    expect(() => walk('/tmp\0/x')).toThrow(TypeError)
  })
})

it.each([-1, 65, Number.NaN])('addon refuses %d threads', (threads) => {
  expect(() => walkTree('/', { threads })).toThrow(RangeError)
})
