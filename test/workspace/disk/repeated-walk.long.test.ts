import { execFile, execFileSync } from 'node:child_process'
import {
  closeSync,
  ftruncateSync,
  linkSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  truncateSync,
  writeFileSync,
  writeSync,
} from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { fc } from '../../support/fast-check.ts'
import { expect, test } from 'vitest'
import { walkTrees } from '../../../src/native/files/disk.ts'
import { admin, canMount, mountFileSystem } from '../../support/files/file-systems.ts'
import { tempDir } from '../../support/temp-dir.ts'

const KINDS = ['xfs', 'btrfs'] as const
const BLOCK = 64 * 1024
/** Files with up to 32 extents are not remembered. */
const MANY = 40

/** Time at which everything written until now has settled. */
const later = (): Date => new Date(Date.now() + 600_000)

type Step =
  | { readonly make: 'file' | 'clone' | 'link'; readonly from: number }
  | {
      readonly change: number
      readonly how: 'overwrite' | 'punch' | 'cut' | 'extend' | 'replace'
      readonly at: number
    }
  | { readonly drop: number; readonly how: 'remove' | 'rename' }

const step: fc.Arbitrary<Step> = fc.oneof(
  fc.record({ make: fc.constantFrom('file', 'clone', 'clone', 'link'), from: fc.nat() }),
  fc.record({
    change: fc.nat(),
    how: fc.constantFrom('overwrite', 'punch', 'cut', 'extend', 'replace'),
    at: fc.nat(MANY - 1),
  }),
  fc.record({ drop: fc.nat(), how: fc.constantFrom('remove', 'rename') }),
)

/** Every other block, so that each is a separate extent. */
function writeScattered(path: string, first = 0): void {
  const fd = openSync(path, first === 0 ? 'w' : 'r+')
  if (first === 0) ftruncateSync(fd, 2 * MANY * BLOCK)
  for (let i = first; i < MANY; i++) writeSync(fd, Buffer.alloc(BLOCK, i + 1), 0, BLOCK, 2 * i * BLOCK)
  closeSync(fd)
}

function apply(directory: string, index: number, what: Step): void {
  const files = readdirSync(directory).toSorted()
  const pick = (n: number): string => join(directory, files[n % files.length] ?? '')
  const fresh = join(directory, `file-${index}`)
  if ('make' in what) {
    if (what.make === 'file' || files.length === 0) writeScattered(fresh)
    else if (what.make === 'link') linkSync(pick(what.from), fresh)
    else execFileSync('cp', ['--reflink=always', pick(what.from), fresh])
  } else if (files.length === 0) {
    return
  } else if ('drop' in what) {
    if (what.how === 'remove') rmSync(pick(what.drop))
    else renameSync(pick(what.drop), fresh)
  } else {
    const path = pick(what.change)
    if (what.how === 'overwrite') {
      const fd = openSync(path, 'r+')
      writeSync(fd, Buffer.alloc(3 * BLOCK, 'z'), 0, 3 * BLOCK, 2 * what.at * BLOCK)
      closeSync(fd)
    } else if (what.how === 'punch') {
      admin('fallocate', '-p', '-o', String(2 * what.at * BLOCK), '-l', String(8 * BLOCK), path)
    } else if (what.how === 'cut') truncateSync(path, 2 * what.at * BLOCK)
    else if (what.how === 'extend') writeScattered(path, what.at + 1)
    else writeScattered(path)
  }
}

/** Bytes that files share, by filefrag(8). */
function sharedByFilefrag(directory: string): number {
  const seen = new Set<number>()
  const extents: [start: number, end: number][] = []
  for (const name of readdirSync(directory)) {
    const text = admin('filefrag', '-v', '-s', '-b4096', join(directory, name))
    const inode = Number(admin('stat', '-c', '%i', join(directory, name)))
    if (seen.has(inode)) continue
    seen.add(inode)
    for (const [, start, length] of text.matchAll(/^\s*\d+:\s*\d+\.\.\s*\d+:\s*(\d+)\.\.\s*\d+:\s*(\d+):/gm))
      extents.push([Number(start), Number(start) + Number(length)])
  }
  extents.sort(([a], [b]) => a - b)
  let [covered, shared] = [0, 0]
  for (const [start, end] of extents) {
    shared += Math.max(0, Math.min(end, covered) - start)
    covered = Math.max(covered, end)
  }
  return shared * 4096
}

test.runIf(canMount).each(KINDS)(
  'walks that remember extents agree with filefrag on %s after any change of files',
  async (kind) => {
    const disk = mountFileSystem(kind, 1200 * 2 ** 20)
    let round = 0
    await fc.assert(
      fc.asyncProperty(fc.array(step, { minLength: 4, maxLength: 14 }), async (steps) => {
        const directory = join(disk, `round-${round++}`)
        mkdirSync(directory)
        for (const [index, what] of steps.entries()) {
          apply(directory, index, what)
          admin('sync', '-f', directory)
          const expected = sharedByFilefrag(directory)
          expect((await walkTrees([directory])).sharedBytes).toBe(expected)
          expect((await walkTrees([directory], { rememberAt: later() })).sharedBytes).toBe(expected)
        }
        rmSync(directory, { recursive: true })
      }),
      { numRuns: 12 },
    )
  },
)

test.runIf(canMount).each(KINDS)('a walk on %s asks only about files that have changed', async (kind) => {
  const disk = mountFileSystem(kind)
  for (const name of ['one', 'two', 'three']) writeScattered(join(disk, name))
  admin('sync', '-f', disk)
  const asked = async (rememberAt?: Date): Promise<number> =>
    (await walkTrees([disk], rememberAt && { rememberAt })).askedFiles
  // Their data may still move.
  expect(await asked(new Date())).toBe(3)
  expect(await asked(later())).toBe(3)
  expect(await asked(later())).toBe(0)
  expect(await asked()).toBe(3)
  execFileSync('cp', ['--reflink=always', join(disk, 'one'), join(disk, 'clone')])
  writeFileSync(join(disk, 'two'), 'x', { flag: 'r+' })
  admin('sync', '-f', disk)
  expect(await asked(later())).toBe(2)
  // The clone's origin has not changed, and its extents are shared all the same.
  expect(await walkTrees([disk], { rememberAt: later() })).toMatchObject({
    askedFiles: 0,
    sharedBytes: MANY * BLOCK,
  })
})

test.runIf(canMount)(
  'extents are kept for the next process, and a damaged file is reported and replaced',
  async () => {
    const disk = mountFileSystem('xfs')
    writeScattered(join(disk, 'one'))
    execFileSync('cp', ['--reflink=always', join(disk, 'one'), join(disk, 'two')])
    admin('sync', '-f', disk)
    const file = join(tempDir(), 'extents')
    const walk = async (): Promise<unknown> => {
      const child = fileURLToPath(new URL('../../support/files/walk-child.ts', import.meta.url))
      const { stdout } = await promisify(execFile)(process.execPath, [
        child,
        disk,
        file,
        later().toISOString(),
      ])
      return JSON.parse(stdout)
    }
    const sharedBytes = MANY * BLOCK
    expect(await walk()).toMatchObject({ report: { askedFiles: 2, sharedBytes }, problems: [] })
    expect(await walk()).toMatchObject({ report: { askedFiles: 0, sharedBytes }, problems: [] })
    const saved = readFileSync(file)
    const middle = saved.length >> 1
    saved.writeUInt8(saved.readUInt8(middle) ^ 1, middle)
    writeFileSync(file, saved)
    const damaged = { report: { askedFiles: 2, sharedBytes }, problems: [`${file} is damaged`] }
    expect(await walk()).toMatchObject(damaged)
    expect(await walk()).toMatchObject({ report: { askedFiles: 0, sharedBytes }, problems: [] })
  },
)
