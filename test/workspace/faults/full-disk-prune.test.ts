import { statfsSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { canMount, mountFileSystem } from '../../support/files/file-systems.ts'
import { HOUR_MS, MachineDisk } from '../../support/workspace/disk/machine-disk.ts'

/** Uses up all remaining bytes or inodes. */
function fill(disk: string): void {
  const { bavail, bsize } = statfsSync(disk)
  for (let i = 0; i < 100_000; i++) {
    try {
      writeFileSync(
        join(disk, `filler-${i}`),
        i === 0 ? Buffer.alloc(bavail * bsize) : Buffer.alloc(i % 2 === 0 ? 0 : 1024),
      )
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === 'ENOSPC' && i > 1) return
    }
  }
  throw new Error('the disk does not fill')
}

test.runIf(canMount).each([
  ['F5', 'bytes', []],
  ['F11', 'inodes', ['-N', '128']],
] as const)(
  '%s on a disk without free %s df and prune still work and free space',
  async (_id, _what, flags) => {
    const mounted = mountFileSystem('ext4', 16 * 2 ** 20, ...flags)
    const disk = new MachineDisk('qemu', join(mounted, 'machines'))
    disk.machine('old', { ageMs: 100 * HOUR_MS })
    disk.machine('young')
    disk.upper('stray', 2 ** 20)
    disk.console('young', 'x'.repeat(100_000))
    const server = await disk.serve({}, { stateDir: join(mounted, 'state') })
    fill(mounted)
    const before = statfsSync(mounted)
    expect((await server.api('system/df')).body.workspaces).toHaveLength(2)
    const { status, body } = await server.api(
      'system/prune?scope=instances&scope=orphans&scope=logs&log_tail_bytes=10',
      'POST',
    )
    expect(status).toBe(200)
    expect(body.items.map(({ name, action }: any) => [name, action])).toEqual([
      ['old', 'deleted'],
      ['stray', 'deleted'],
      ['young', 'truncated'],
    ])
    const after = statfsSync(mounted)
    expect(after.bavail).toBeGreaterThan(before.bavail)
    expect(after.ffree).toBeGreaterThan(before.ffree)
    expect(disk.has('uppers/young/upper.ext4')).toBe(true)
  },
)
