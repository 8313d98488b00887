import { execFileSync } from 'node:child_process'
import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, onTestFinished, test } from 'vitest'
import { convert } from '../../../src/workspace/image/convert/convert.ts'
import { tarSource } from '../../../src/workspace/image/source/tar-source.ts'
import { allBlobs, openStore, unfinishedBlobs, wholeBlobs } from '../../support/workspace/machine/images.ts'
import { tempDir } from '../../support/temp-dir.ts'
import { convertTar, converter, pack, tinyTree } from '../../support/workspace/machine/tiny-image.ts'
import { testKernel } from '../../support/vm/vm-parts.ts'
import { convertInChild } from '../../support/vm/convert-in-child.ts'

describe('a conversion', () => {
  test('reports a missing archive', async () => {
    await expect(convertTar(await converter(), '/no/such.tar')).rejects.toMatchObject({
      code: 'INVALID_REQUEST',
    })
  })

  test('reports where to get a kernel when there is none', async () => {
    const parts = await converter({ kernel: { file: undefined, modules: '/no/such/modules' } })
    const failing = convertTar(parts, pack(tinyTree()))
    await expect(failing).rejects.toMatchObject({ code: 'BACKEND_ERROR' })
    await expect(failing).rejects.toThrow(
      /contains a kernel with its modules.*set image\.kernel and image\.modules/,
    )
    expect(allBlobs(parts.store)).toEqual([])
  })

  test.each([
    ['is not there', (file: string) => rmSync(file), /cannot be read/],
    [
      'is cut short',
      (file: string) => writeFileSync(file, readFileSync(testKernel().file).subarray(0, 500_000)),
      /is truncated/,
    ],
    ['is none', (file: string) => writeFileSync(file, 'no kernel'), /is not a supported kernel image/],
  ])('reports a configured kernel that %s', async (_how, damage, says) => {
    const file = join(tempDir(), 'vmlinuz-x')
    writeFileSync(file, '')
    damage(file)
    const parts = await converter({ kernel: { file, modules: testKernel().modules }, backend: 'firecracker' })
    await expect(convertTar(parts, pack(tinyTree()))).rejects.toThrow(says)
    expect(allBlobs(parts.store)).toEqual([])
  })

  test('reports a kernel that lacks a required feature', async () => {
    const modules = join(tempDir(), 'modules')
    mkdirSync(modules)
    for (const name of ['modules.dep', 'modules.builtin'])
      writeFileSync(
        join(modules, name),
        readFileSync(join(testKernel().modules, name), 'utf8').replaceAll('virtio_blk', 'other_blk'),
      )
    const parts = await converter({ kernel: { file: testKernel().file, modules } })
    await expect(convertTar(parts, pack(tinyTree()))).rejects.toThrow(/has no virtio_blk/)
  })

  test('reports how to build the guest programs when they are missing', async () => {
    const parts = await converter({ guestDir: '/no/such/guest' })
    await expect(convertTar(parts, pack(tinyTree()))).rejects.toThrow('run npm run build')
  })

  // Sizes of a tree, a kernel and a file system: each limit fails at a different step.
  test.each(['1m', '4m', '20m', '60m', '110m', '130m'])(
    'F5 reports a full disk of %s, leaves nothing behind, and works with more space',
    async (size) => {
      const root = join(tempDir(), 'small')
      mkdirSync(root)
      execFileSync('mount', ['-t', 'tmpfs', '-o', `size=${size}`, 'tmpfs', root])
      onTestFinished(() => void execFileSync('umount', ['-l', root]))
      const parts = await converter({ store: await openStore({ root }) })
      const archive = pack(tinyTree())
      const failing = convertTar(parts, archive)
      await expect(failing).rejects.toMatchObject({ code: 'BACKEND_ERROR' })
      await expect(failing).rejects.toThrow(/the disk is full/)
      expect(allBlobs(parts.store)).toEqual([])
      execFileSync('mount', ['-o', 'remount,size=1g', root])
      expect((await convertTar(parts, archive)).manifest.digest).toMatch(/^sha256:/)
    },
  )

  test('leaves nothing behind when it is aborted', async () => {
    const parts = await converter()
    const stop = new AbortController()
    const source = await tarSource(pack(tinyTree()), parts)
    const failing = convert(parts, source, {
      progress: (message) => message.startsWith('creating') && stop.abort(new Error('enough')),
      signal: stop.signal,
    })
    await expect(failing).rejects.toThrow('enough')
    expect(allBlobs(parts.store)).toEqual([])
  })
})

test('runs once for two processes that request the same image', async () => {
  const parts = await converter()
  const task = {
    root: parts.store.root,
    archive: pack(tinyTree()),
    guestDir: parts.guestDir,
    kernel: parts.kernel,
  }
  const both = [convertInChild(task), convertInChild(task)]
  await Promise.all(both.map(({ ended }) => ended))
  const said = both.map(({ lines }) => lines)
  expect(said.filter((lines) => lines.includes('checking the file system'))).toHaveLength(1)
  expect(new Set(said.map((lines) => lines.at(-1))).size).toBe(1)
  expect(wholeBlobs(parts.store)).toHaveLength(1)
})

test.each(['unpacking', 'installing', 'creating', 'checking'])(
  'F1 leaves only .tmp files when killed while %s, and the next one works',
  async (step) => {
    const parts = await converter()
    const archive = pack(tinyTree())
    const task = { root: parts.store.root, archive, guestDir: parts.guestDir, kernel: parts.kernel }
    const { child, onLine, ended } = convertInChild(task)
    onLine((line) => line.startsWith(step) && process.kill(-(child.pid ?? 0), 'SIGKILL'))
    expect(await ended).toEqual([null, 'SIGKILL'])
    expect(wholeBlobs(parts.store)).toEqual([])
    expect(unfinishedBlobs(parts.store).length).toBeGreaterThan(0)
    expect((await parts.store.list()).images).toEqual([])
    const { manifest } = await convertTar(parts, archive)
    expect(wholeBlobs(parts.store)).toEqual([manifest.digest.slice('sha256:'.length)])
  },
)
