import { fc } from '../../../support/fast-check.ts'
import { statfsSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { buffer } from 'node:stream/consumers'
import { describe, expect, test } from 'vitest'
import { Quota } from '../../../../src/workspace/image/convert/quota.ts'
import { canMount, mountFileSystem } from '../../../support/files/file-systems.ts'
import { waitFor } from '../../../support/wait-for.ts'

/** A quota on a disk with free space. Nothing is written to it. */
const ROOMY = tmpdir()

/** Every file and directory that a list of paths implies. */
function nodesOf(paths: readonly string[]): ReadonlySet<string> {
  return new Set(
    paths.flatMap((path) => {
      const parts = path.split('/')
      return parts.map((_, i) => parts.slice(0, i + 1).join('/'))
    }),
  )
}

function whyStopped({ signal }: Quota): string | undefined {
  if (!signal.aborted) return undefined
  expect(signal.reason).toMatchObject({ code: 'BACKEND_ERROR' })
  return (signal.reason as Error).message
}

test('an archive passes unchanged, and stops exactly at the size limit', async () => {
  const chunks = fc.array(fc.uint8Array({ maxLength: 64 }), { maxLength: 20 })
  await fc.assert(
    fc.asyncProperty(chunks, fc.nat(600), async (list, maxBytes) => {
      const quota = new Quota(ROOMY, { maxBytes })
      const all = Buffer.concat(list)
      const passed = await buffer(
        Readable.from(list.map((chunk) => Buffer.from(chunk))).pipe(quota.counter()),
      )
      expect(passed.equals(all)).toBe(true)
      expect(quota.signal.aborted).toBe(all.length > maxBytes)
    }),
  )
  const quota = new Quota(ROOMY, { maxBytes: 2 ** 25 })
  const counter = quota.counter().resume()
  counter.write(Buffer.alloc(2 ** 25 + 1))
  await waitFor('all of it', () => counter.writableLength === 0)
  expect(whyStopped(quota)).toBe('unpacking the image failed: the image unpacks to more than 0.03125 GiB')
})

describe('files and directories', () => {
  const part = fc.constantFrom('a', 'b', 'c', '..')
  const path = fc.array(part, { minLength: 1, maxLength: 6 }).map((parts) => parts.join('/'))

  /** Number of entries that a quota counts: the smallest limit at which it does not stop. */
  function countOf(paths: readonly string[]): number {
    for (let maxEntries = 0; ; maxEntries++) {
      const quota = new Quota(ROOMY, { maxEntries })
      for (const each of paths) quota.addEntry(each)
      if (!quota.signal.aborted) return maxEntries
    }
  }

  test('parents that only a path names count as well, in any order', () => {
    fc.assert(
      fc.property(fc.array(path, { maxLength: 12 }), (paths) => {
        const counted = countOf(paths)
        expect(counted).toBeGreaterThanOrEqual(nodesOf(paths).size)
        expect(counted).toBeLessThanOrEqual(paths.reduce((sum, each) => sum + each.split('/').length, 0))
      }),
    )
  })

  test('each counts once in the order in which tar writes a tree', () => {
    fc.assert(
      fc.property(fc.array(path, { maxLength: 12 }), (paths) => {
        const tree = [...nodesOf(paths)].toSorted((a, b) => (`${a}/` < `${b}/` ? -1 : 1))
        expect(countOf(tree)).toBe(tree.length)
      }),
    )
  })

  test('a leading "./" and repeated or trailing slashes do not change a path', () => {
    expect(countOf(['./a/', 'a/b', './/a//b/c', 'a/b/c'])).toBe(4)
  })

  test('one too many is reported', () => {
    const quota = new Quota(ROOMY, { maxEntries: 2 })
    quota.addEntry('a/b')
    expect(whyStopped(quota)).toBeUndefined()
    quota.addEntry('c')
    expect(whyStopped(quota)).toBe(
      'unpacking the image failed: the image has more than 2 files and directories',
    )
  })
})

describe('the disk', () => {
  /** Adds enough entries to trigger a check of the disk. */
  const lookAt = (quota: Quota): void => {
    for (let i = 0; i < 5_000; i++) quota.addEntry(`file-${i}`)
  }

  test.runIf(canMount).each([
    ['bytes', [], /^unpacking the image failed: the disk is full \(0 MiB free in .*\); free disk space/],
    ['inodes', ['-N', '64'], /^unpacking the image failed: the disk is full \(\d inodes free in /],
  ] as const)('stops an image when it runs out of %s', async (what, flags, says) => {
    const disk = mountFileSystem('ext4', 16 * 2 ** 20, ...flags)
    const { bavail, bsize, ffree } = statfsSync(disk)
    if (what === 'bytes') writeFileSync(join(disk, 'filler'), Buffer.alloc(bavail * bsize))
    else for (let i = 0; i < ffree - 2; i++) writeFileSync(join(disk, `filler-${i}`), '')
    const quota = new Quota(disk)
    quota.addEntry('first')
    expect(whyStopped(quota)).toBeUndefined()
    lookAt(quota)
    await waitFor('the disk', () => quota.signal.aborted)
    expect(whyStopped(quota)).toMatch(says)
  })

  test.runIf(canMount)('stops an image by its size', async () => {
    const disk = mountFileSystem('ext4', 16 * 2 ** 20)
    const { bavail, bsize } = statfsSync(disk)
    writeFileSync(join(disk, 'filler'), Buffer.alloc(bavail * bsize))
    const quota = new Quota(disk)
    const counter = quota.counter().resume()
    counter.write(Buffer.alloc(2 ** 26 - 1))
    counter.write(Buffer.alloc(1))
    await waitFor('the disk', () => quota.signal.aborted)
    expect(whyStopped(quota)).toContain('the disk is full')
  })
})
