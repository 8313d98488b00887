import { execFileSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Pool } from '../../src/lib/pool/pool.ts'
import { convert } from '../../src/workspace/image/convert/convert.ts'
import { ImageStore } from '../../src/workspace/image/image-store.ts'
import { tarSource } from '../../src/workspace/image/source/tar-source.ts'
import bringParts, { baseTar } from '../../test/support/vm/vm-parts.ts'
import type { Bench } from '../harness.ts'
import { systemClock } from '../../src/lib/clock/clock.ts'

const bench: Bench = {
  note:
    "An image of the base image's root file system, from its tar archive to files with their final names in the store: " +
    'hashed, unpacked, kernel and initrd created, file system created, normalized, hashed and checked, all flushed to disk. The first ' +
    'peer only creates the file system, from an unpacked tree; the second also unpacks the archive. Both ' +
    'leave their results in the page cache. Megabytes are those of the archive.',

  async prepare() {
    bringParts()
    const directory = mkdtempSync(join(tmpdir(), 'workspace-bench-'))
    const tree = join(directory, 'tree')
    const guestDir = join(directory, 'guest')
    for (const each of [tree, guestDir]) mkdirSync(each)
    writeFileSync(join(guestDir, 'init'), '#!/bin/sh\n', { mode: 0o755 })
    execFileSync('tar', ['-xf', baseTar, '-C', tree, '--numeric-owner'])
    const pool = new Pool({ name: 'image' })
    let runs = 0
    const ours = async (): Promise<void> => {
      const root = join(directory, `store-${runs++}`)
      const store = await ImageStore.open({ root, pinnedDigests: () => Promise.resolve(new Set()) })
      const kernel = { file: undefined, modules: undefined }
      const parts = { store, backend: 'qemu', pool, kernel, guestDir, clock: systemClock } as const
      await convert(parts, await tarSource(baseTar, parts), { progress: () => undefined })
    }
    const file = join(directory, 'peer.ext4')
    const makeFileSystem = (of: string): void => {
      execFileSync('mke2fs', ['-q', '-t', 'ext4', '-b', '4096', '-m', '0', '-d', of, file, '1500M'])
    }
    const unpackAndMake = (): void => {
      const unpacked = mkdtempSync(join(directory, 'tree-'))
      execFileSync('tar', ['-xf', baseTar, '-C', unpacked, '--numeric-owner'])
      makeFileSystem(unpacked)
    }
    const beforeEach = (): void => {
      rmSync(file, { force: true })
      execFileSync('sh', ['-c', 'rm -rf "$1"/store-* "$1"/tree-*; sync', 'sh', directory])
    }
    const megabytes = statSync(baseTar).size / 1e6
    return {
      cases: [
        {
          name: 'base image',
          ours,
          peer: () => makeFileSystem(tree),
          peerName: 'mke2fs -d',
          megabytes,
          beforeEach,
        },
        {
          name: 'base image',
          ours,
          peer: unpackAndMake,
          peerName: 'tar -x, mke2fs -d',
          megabytes,
          beforeEach,
        },
      ],
      async cleanUp() {
        await pool.close()
        rmSync(directory, { recursive: true, force: true })
      },
    }
  },
}
export default bench
