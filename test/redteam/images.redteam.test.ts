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
import { afterAll, beforeAll } from 'vitest'
import { systemClock } from '../../src/lib/clock/clock.ts'
import { messageOf } from '../../src/lib/errors/message.ts'
import { DisposalStack } from '../../src/lib/lifetime/disposal-stack.ts'
import { Pool } from '../../src/lib/pool/pool.ts'
import { convert } from '../../src/workspace/image/convert/convert.ts'
import { ImageStore } from '../../src/workspace/image/image-store.ts'
import { tarSource } from '../../src/workspace/image/source/tar-source.ts'
import { testKernel } from '../support/vm/vm-parts.ts'
import { testAttacks } from './attack.ts'
import { measured } from './measure.ts'

const MOST_MB = 512
/** A hang never ends; on a busy machine an archive of several GB takes minutes. */
const MOST_MS = 300_000
/** Disk space for images, which no attack may fill, and its maximum number of files. */
const [STORE_BYTES, STORE_FILES] = [2 ** 31, 200_000]
const SECRET = 'the-secret-of-this-host'
const PROGRAM = join(import.meta.dirname, 'hostile-images.py')

const CORE = ['link-as-kernel', 'write-through-link', 'gzip-bomb', 'setuid']
const ids = execFileSync('python3', [PROGRAM, '--list', '-', '-'], { encoding: 'utf8' }).trim().split('\n')

const opened = new DisposalStack()
let directory: string
let canary: string
let disk: string
let store: ImageStore
let pool: Pool
beforeAll(async () => {
  directory = mkdtempSync(join(tmpdir(), 'redteam-images-'))
  opened.defer(() => rmSync(directory, { recursive: true, force: true }))
  const root = join(directory, 'store')
  mkdirSync(root)
  const room = `size=${STORE_BYTES},nr_inodes=${STORE_FILES}`
  execFileSync('mount', ['-t', 'tmpfs', '-o', room, 'tmpfs', root])
  opened.defer(() => execFileSync('umount', ['-l', root]))
  canary = join(directory, 'canary')
  mkdirSync(canary)
  for (const name of ['secret', 'virtio_blk.ko']) writeFileSync(join(canary, name), SECRET)
  disk = hostDisk()
  pool = opened.use(new Pool({ name: 'image' }))
  store = await ImageStore.open({ root, pinnedDigests: () => Promise.resolve(new Set()) })
  mkdirSync(join(directory, 'guest'))
  writeFileSync(join(directory, 'guest/init'), '#!/bin/sh\n')
})
afterAll(() => opened.close())

// Hostile image archives, each converted as root.
testAttacks(
  'images',
  ids.map((id) => ({ id, tries: `an image with ${id.replaceAll('-', ' ')}` })),
  async ({ id }) => {
    const archive = join(directory, 'hostile.tar')
    execFileSync('python3', [PROGRAM, id, archive, canary, disk])
    const blobs = join(directory, 'store/blobs/sha256')
    for (const name of readdirSync(blobs)) rmSync(join(blobs, name), { recursive: true, force: true })
    const { result, peakMb, seconds } = await measured(() => convertArchive(archive))
    const harm = [
      ...(peakMb > MOST_MB ? ['memory'] : []),
      ...(seconds * 1000 >= MOST_MS ? ['time'] : []),
      ...changes(),
      ...(readdirSync(blobs).some((name) => name.endsWith('.tmp') || name.startsWith('.'))
        ? ['leftovers']
        : []),
      ...(result.digest === undefined ? [] : harmOf(id, store.directoryOf(result.digest))),
    ]
    return { harm, seen: `${result.said}; ${peakMb} MiB, ${seconds} s` }
  },
  CORE,
)

async function convertArchive(archive: string) {
  const kernel = testKernel()
  const guestDir = join(directory, 'guest')
  const parts = { store, backend: 'qemu' as const, pool, kernel, guestDir, clock: systemClock }
  try {
    const source = await tarSource(archive, parts)
    const signal = AbortSignal.timeout(MOST_MS)
    const { digest } = await convert(parts, source, { progress: () => undefined, signal })
    await source.close()
    return { digest, said: 'converted' }
  } catch (error) {
    return { digest: undefined, said: messageOf(error).slice(0, 160) }
  }
}

/** A disk of this host with a secret on it, as "major:minor". */
function hostDisk(): string {
  const file = join(directory, 'disk')
  writeFileSync(file, SECRET)
  truncateSync(file, 2 ** 20)
  const device = execFileSync('losetup', ['--find', '--show', file], { encoding: 'utf8' }).trim()
  opened.defer(() => execFileSync('losetup', ['--detach', device]))
  const { rdev } = statSync(device)
  return `${(rdev >>> 8) & 0xfff}:${(rdev & 0xff) | ((rdev >>> 12) & 0xfff00)}`
}

function changes(): readonly string[] {
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
