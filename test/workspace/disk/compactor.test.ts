import { execFileSync } from 'node:child_process'
import { mkdirSync, rmSync, statSync, truncateSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { admin, canMount, unmountLoop } from '../../support/files/file-systems.ts'
import { fingerprint, MachineDisk } from '../../support/workspace/disk/machine-disk.ts'
import { sample } from '../../support/rounds.ts'
import { expectError } from '../../support/workspace/server/expect-error.ts'
import { tempDir } from '../../support/temp-dir.ts'

const MIB = 2 ** 20

/** Mounts a disk, changes its content, and unmounts it cleanly. */
async function onDisk<T>(file: string, work: (path: string) => T, mountOptions = 'loop'): Promise<T> {
  const path = tempDir()
  execFileSync('mount', ['-o', mountOptions, file, path])
  try {
    return work(path)
  } finally {
    await unmountLoop(path, file)
  }
}

function makeUpper(disk: MachineDisk, name: string, ...flags: readonly string[]): string {
  disk.machine(name)
  const file = disk.at('uppers', name, 'upper.ext4')
  truncateSync(file, 0)
  truncateSync(file, 512 * MIB)
  admin('mke2fs', '-q', '-F', '-t', 'ext4', '-E', 'lazy_itable_init=1,lazy_journal_init=1', ...flags, file)
  return file
}

describe.runIf(canMount)('compact', () => {
  test.each(
    sample(
      [
        ['4 KiB', ['-b', '4096']],
        ['1 KiB', ['-b', '1024']],
      ] as const,
      2,
    ),
  )(
    'frees unused blocks in a file system with blocks of %s, and every file survives',
    async (_size, flags) => {
      const disk = new MachineDisk()
      const file = makeUpper(disk, 'demo', ...flags)
      const before = await onDisk(
        file,
        (path) => {
          for (let d = 0; d < 20; d++) {
            mkdirSync(join(path, `dir-${d}`))
            for (let f = 0; f < 20; f++)
              writeFileSync(join(path, `dir-${d}`, `file-${f}`), Buffer.alloc(1000 + f * 7919, `${d}.${f} `))
          }
          writeFileSync(join(path, 'large'), Buffer.alloc(60 * MIB, 'large '))
          for (let d = 0; d < 20; d += 2)
            writeFileSync(join(path, `dir-${d}`, 'more'), Buffer.alloc(3 * MIB, 'm'))
          // Blocks that were never written to disk cannot be freed.
          execFileSync('sync', ['-f', path])
          for (let d = 0; d < 20; d += 4) rmSync(join(path, `dir-${d}`, 'more'))
          rmSync(join(path, 'large'))
          return fingerprint(path)
        },
        'loop,nodiscard',
      )
      // While the host writes data, it counts some blocks of the file twice: as reserved and as allocated.
      execFileSync('sync', [file])
      const taken = statSync(file).blocks * 512
      const server = await disk.serve()
      const { status, body } = await server.api('system/compact', 'POST')
      expect(status).toBe(200)
      expect(body.items).toMatchObject([{ name: 'demo', backend: 'qemu' }])
      expect(body.items[0].error).toBeUndefined()
      const freed = taken - statSync(file).blocks * 512
      expect(freed).toBeGreaterThan(60 * MIB)
      expect(body.totals.freed.physical_bytes).toBe(freed)
      expect(statSync(file).size).toBe(512 * MIB)
      // Fails when anything is inconsistent.
      admin('e2fsck', '-f', '-n', file)
      expect(await onDisk(file, fingerprint)).toBe(before)
      expect((await server.api('system/compact', 'POST')).body.totals.freed.physical_bytes).toBeLessThan(MIB)
    },
  )

  test(
    'skips a disk that was not unmounted cleanly, is not a file system, or has other links',
    { tags: ['long'] },
    async () => {
      const disk = new MachineDisk()
      const dirty = makeUpper(disk, 'dirty')
      const mounted = tempDir()
      execFileSync('mount', ['-o', 'loop', dirty, mounted])
      writeFileSync(join(mounted, 'file'), 'x')
      execFileSync('sync', ['-f', mounted])
      disk.machine('other')
      execFileSync('cp', ['--sparse=always', dirty, disk.at('uppers/other/upper.ext4')])
      execFileSync('umount', [mounted])
      disk.machine('garbage')
      const linked = makeUpper(disk, 'linked')
      execFileSync('ln', [linked, join(tempDir(), 'elsewhere')])
      const damaged = makeUpper(disk, 'damaged')
      // Blocks in use that the bitmap marks as free.
      admin('debugfs', '-w', '-R', 'freeb 1 40', damaged)
      const before = ['other', 'garbage', 'linked', 'damaged'].map(
        (name) => statSync(disk.at('uppers', name, 'upper.ext4')).blocks,
      )
      const server = await disk.serve()
      const { body } = await server.api(
        'system/compact?name=other&name=garbage&name=linked&name=damaged',
        'POST',
      )
      expect(body.items.map(({ error }: any) => error)).toEqual([
        expect.stringMatching(/not unmounted cleanly/),
        expect.stringMatching(/dumpe2fs cannot read it/),
        expect.stringMatching(/other hard links/),
        expect.stringMatching(/e2fsck reports errors/),
      ])
      expect(
        ['other', 'garbage', 'linked', 'damaged'].map(
          (name) => statSync(disk.at('uppers', name, 'upper.ext4')).blocks,
        ),
      ).toEqual(before)
    },
  )

  test('refuses an unknown name, and skips a workspace in error', async () => {
    const disk = new MachineDisk()
    disk.machine('broken', { failure: 'it does not boot' })
    const server = await disk.serve()
    expectError(await server.api('system/compact?name=nobody', 'POST'), 404, 'WORKSPACE_NOT_FOUND')
    const { body } = await server.api('system/compact', 'POST')
    expect([body.items, body.skipped]).toMatchObject([
      [],
      [{ name: 'broken', reason: 'cannot compact error workspace' }],
    ])
  })
})
