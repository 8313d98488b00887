import { execFileSync } from 'node:child_process'
import {
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  truncateSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { gunzipSync } from 'node:zlib'
import { messageOf } from '../../src/lib/errors/message.ts'
import { Pool } from '../../src/lib/pool/pool.ts'
import { convert } from '../../src/workspace/image/convert/convert.ts'
import { ImageStore } from '../../src/workspace/image/image-store.ts'
import { tarSource } from '../../src/workspace/image/source/tar-source.ts'
import { testKernel } from '../support/vm/vm-parts.ts'
import type { Attack, Chapter } from './attack.ts'
import { measured } from './measure.ts'
import { systemClock } from '../../src/lib/clock/clock.ts'

const MOST_MB = 512
/** A hang never ends; on a busy machine an archive of several GB takes minutes. */
const MOST_MS = 300_000
/** Disk space for images, which no attack may fill, and its maximum number of files. */
const [STORE_BYTES, STORE_FILES] = [2 ** 31, 200_000]
const SECRET = 'the-secret-of-this-host'
const PROGRAM = join(import.meta.dirname, 'hostile-images.py')

/** Hostile image archives, each converted as root. */
export function imagesChapter(): Chapter {
  return {
    name: 'images',
    async play(report, isWanted) {
      const closers: (() => unknown)[] = []
      try {
        const directory = mkdtempSync(join(tmpdir(), 'redteam-images-'))
        closers.push(() => rmSync(directory, { recursive: true, force: true }))
        const root = join(directory, 'store')
        mkdirSync(root)
        const room = `size=${STORE_BYTES},nr_inodes=${STORE_FILES}`
        execFileSync('mount', ['-t', 'tmpfs', '-o', room, 'tmpfs', root])
        closers.push(() => execFileSync('umount', ['-l', root]))
        const canary = join(directory, 'canary')
        mkdirSync(canary)
        for (const name of ['secret', 'virtio_blk.ko']) writeFileSync(join(canary, name), SECRET)
        const disk = hostDisk(directory, closers)
        const pool = new Pool({ name: 'image' })
        closers.push(() => pool.close())
        const store = await ImageStore.open({ root, pinnedDigests: () => Promise.resolve(new Set()) })
        const guestDir = join(directory, 'guest')
        mkdirSync(guestDir)
        writeFileSync(join(guestDir, 'init'), '#!/bin/sh\n')
        const ids = execFileSync('python3', [PROGRAM, '--list', '-', '-'], { encoding: 'utf8' })
          .trim()
          .split('\n')
        for (const id of ids.filter((each) => isWanted(`images/${each}`))) {
          const archive = join(directory, 'hostile.tar')
          execFileSync('python3', [PROGRAM, id, archive, canary, disk])
          const attack: Attack = { id: `images/${id}`, tries: `an image with ${id.replaceAll('-', ' ')}` }
          const { result, peakMb, seconds } = await measured(async () => {
            const parts = {
              store,
              backend: 'qemu' as const,
              pool,
              kernel: testKernel(),
              guestDir,
              clock: systemClock,
            }
            try {
              const source = await tarSource(archive, parts)
              const signal = AbortSignal.timeout(MOST_MS)
              const { digest } = await convert(parts, source, { progress: () => undefined, signal })
              await source.close()
              return { digest, said: 'converted' }
            } catch (error) {
              return { digest: undefined, said: messageOf(error).slice(0, 160) }
            }
          })
          const harm = [
            ...(peakMb > MOST_MB ? ['memory'] : []),
            ...(seconds * 1000 >= MOST_MS ? ['time'] : []),
            ...changes(canary),
            ...(readdirSync(join(root, 'blobs/sha256')).some(
              (name) => name.endsWith('.tmp') || name.startsWith('.'),
            )
              ? ['leftovers']
              : []),
            ...(result.digest === undefined ? [] : harmOf(id, store.directoryOf(result.digest))),
          ]
          const seen = `${harm.join(', ')}${harm.length > 0 ? '; ' : ''}${result.said}; ${peakMb} MiB, ${seconds} s`
          report({ attack, isReached: harm.length > 0, seen })
          for (const name of readdirSync(join(root, 'blobs/sha256')))
            rmSync(join(root, 'blobs/sha256', name), { recursive: true, force: true })
        }
      } finally {
        for (const close of closers.toReversed()) await close()
      }
    },
  }
}

/** A disk of this host with a secret on it, as "major:minor". */
function hostDisk(directory: string, closers: (() => unknown)[]): string {
  const file = join(directory, 'disk')
  writeFileSync(file, SECRET)
  truncateSync(file, 2 ** 20)
  const device = execFileSync('losetup', ['--find', '--show', file], { encoding: 'utf8' }).trim()
  closers.push(() => execFileSync('losetup', ['--detach', device]))
  const { rdev } = statSync(device)
  return `${(rdev >>> 8) & 0xfff}:${(rdev & 0xff) | ((rdev >>> 12) & 0xfff00)}`
}

function changes(canary: string): readonly string[] {
  const names = readdirSync(canary).toSorted().join()
  return names === 'secret,virtio_blk.ko' && readFileSync(join(canary, 'secret'), 'utf8') === SECRET
    ? []
    : ['the canary was changed']
}

/** Returns host data found in an image, and archive files missing from it. */
function harmOf(id: string, image: string): readonly string[] {
  const harm: string[] = []
  if (readFileSync(join(image, 'kernel')).includes(SECRET)) harm.push('the secret is in the kernel')
  if (gunzipSync(readFileSync(join(image, 'initrd'))).includes(SECRET))
    harm.push('the secret is in the initrd')
  const files = execFileSync('debugfs', ['-R', 'ls -p /', join(image, 'rootfs.ext4')], {
    encoding: 'latin1',
    stdio: ['ignore', 'pipe', 'ignore'],
  })
  if (id === 'name-not-utf8' && !/caf(?:\xe9|M-i)\.txt/.test(files)) harm.push('a file is missing')
  return harm
}
