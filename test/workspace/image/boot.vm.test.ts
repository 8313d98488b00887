import { execFileSync } from 'node:child_process'
import { createHash, randomFillSync } from 'node:crypto'
import {
  closeSync,
  createReadStream,
  mkdirSync,
  mkdtempSync,
  openSync,
  readSync,
  rmSync,
  statSync,
  truncateSync,
  writeSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pipeline } from 'node:stream/promises'
import { beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import { Pool } from '../../../src/lib/pool/pool.ts'
import type { BootImage } from '../../../src/workspace/image/image-store.ts'
import { boot, newUpper, saidByInit } from '../../support/vm/boot.ts'
import { openStore } from '../../support/workspace/machine/images.ts'
import { tempDir } from '../../support/temp-dir.ts'
import {
  convertTar,
  converter,
  guestDir,
  pack,
  POWER_OFF,
  tinyTree,
} from '../../support/workspace/machine/tiny-image.ts'

const READY = 'workspace-init: ready'
const FORMATTED = 'workspace-init: formatted the upper disk'
const FORMAT = { words: 'workspace.format=1' }

/** Reports what it stored at its last start and stores something for the next. */
const SCRIPT = `
if read -r kept < /kept; then echo "guest: kept $kept"; else echo "guest: kept nothing"; fi
while read -r _ place kind options _; do echo "guest: $place $kind $options"; done < /proc/mounts
echo one > /kept
${POWER_OFF}`

async function image(script: string, backend: 'qemu' | 'firecracker' = 'qemu'): Promise<BootImage> {
  const parts = await converter({ guestDir: guestDir(script), backend })
  const { manifest } = await convertTar(parts, pack(tinyTree()))
  return parts.store.resolve(manifest.digest)
}

/** Reads the data in a file, skipping holes. */
async function digestOf(file: string): Promise<string> {
  const hash = createHash('sha256')
  await pipeline(createReadStream(file, { highWaterMark: 2 ** 22 }), hash)
  return hash.digest('hex')
}

function write(file: string, at: number, bytes: Buffer): void {
  const handle = openSync(file, 'r+')
  writeSync(handle, bytes, 0, bytes.length, at)
  closeSync(handle)
}

test('the first start formats a sparse upper, the second keeps its data, and the image is unchanged', async () => {
  const booted = await image(SCRIPT)
  const before = await digestOf(booted.rootfs)
  const upper = newUpper(5)
  const first = await boot(booted, upper, FORMAT)
  expect(saidByInit(first)).toEqual([FORMATTED, READY])
  expect(first).toContain('guest: kept nothing')
  expect(first.find((line) => line.startsWith('guest: / overlay'))).toMatch(/^guest: \/ overlay rw,/)
  expect(statSync(upper).blocks * 512).toBeLessThan(5 * 2 ** 20)
  // The format argument is passed until the upper is known to be formatted, and is harmless.
  const second = await boot(booted, upper, FORMAT)
  expect(saidByInit(second)).toEqual([READY])
  expect(second).toContain('guest: kept one')
  const third = await boot(booted, upper)
  expect(third).toContain('guest: kept one')
  expect(await digestOf(booted.rootfs)).toBe(before)
  execFileSync('e2fsck', ['-fn', upper], { stdio: 'ignore' })
})

test('two machines share one image and do not see each other’s data', async () => {
  const booted = await image(SCRIPT)
  const uppers = [newUpper(), newUpper()] as const
  const both = await Promise.all(uppers.map((upper) => boot(booted, upper, FORMAT)))
  for (const console of both) expect(console).toContain('guest: kept nothing')
})

test("an ELF kernel, as in Firecracker's images, boots too", async () => {
  const booted = await image(SCRIPT, 'firecracker')
  const handle = openSync(booted.kernel, 'r')
  const magic = Buffer.alloc(4)
  readSync(handle, magic)
  closeSync(handle)
  expect(magic.toString('latin1')).toBe('\x7fELF')
  expect(saidByInit(await boot(booted, newUpper(), FORMAT))).toEqual([FORMATTED, READY])
})

describe('with one image', () => {
  let tiny: BootImage
  beforeAll(async () => {
    const pool = new Pool({ name: 'image' })
    const directory = mkdtempSync(join(tmpdir(), 'workspace-boot-'))
    const store = await openStore({ root: join(directory, 'store') })
    const parts = await converter({ pool, store, guestDir: guestDir(SCRIPT, directory) })
    const { manifest } = await convertTar(parts, pack(tinyTree(directory)))
    tiny = await parts.store.resolve(manifest.digest)
    return async () => {
      await pool.close()
      rmSync(directory, { recursive: true })
    }
  })

  /** Returns the one error reported by a machine that then powered itself off. */
  async function faultOf(upper: string | undefined, words = ''): Promise<string> {
    const said = saidByInit(await boot(tiny, upper, { words }))
    expect(said).toHaveLength(1)
    return said[0] ?? ''
  }

  type Damage = readonly [string, (file: string) => void]
  const DAMAGE: readonly Damage[] = [
    ['whose superblock is zeroed', (file) => write(file, 1024, Buffer.alloc(1024))],
  ]
  const MORE_DAMAGE: readonly Damage[] = [
    ['that ends early', (file) => truncateSync(file, 2 ** 20)],
    ['whose superblock is random', (file) => write(file, 1024, randomFillSync(Buffer.alloc(1024)))],
    ['whose head is random', (file) => write(file, 0, randomFillSync(Buffer.alloc(64 * 1024)))],
  ]
  async function expectDamageReported(damage: (file: string) => void): Promise<void> {
    const upper = newUpper()
    expect(saidByInit(await boot(tiny, upper, FORMAT))).toEqual([FORMATTED, READY])
    damage(upper)
    const before = await digestOf(upper)
    for (const words of ['', FORMAT.words]) {
      expect(await faultOf(upper, words)).toMatch(
        /^workspace-init: FAULT the upper disk has no mountable file system \(.*\); it was left unchanged: restore it, or reset the workspace$/,
      )
    }
    expect(await digestOf(upper)).toBe(before)
  }
  test.each(DAMAGE)('an upper %s is never formatted, and the guest reports it', (_how, damage) =>
    expectDamageReported(damage),
  )
  test.each(MORE_DAMAGE)('an upper %s is not formatted either', (_how, damage) =>
    expectDamageReported(damage),
  )

  test('an unformatted upper with one byte of data is not formatted', async () => {
    const upper = newUpper()
    write(upper, 65_535, Buffer.from([1]))
    expect(await faultOf(upper, FORMAT.words)).toContain('FAULT the upper disk has no mountable file system')
  })

  test('a blank upper that was formatted before is reported and not formatted again', async () => {
    const upper = newUpper()
    expect(await faultOf(upper)).toContain('FAULT the upper disk is blank but contained the workspace')
    expect(statSync(upper).blocks).toBe(0)
  })

  test('a machine with one disk reports it', async () => {
    expect(await faultOf(undefined, FORMAT.words)).toBe(
      'workspace-init: FAULT the kernel found only one virtio disk, vda; the VM should have two, the image and the upper',
    )
  })

  test('F5 a full host disk while the upper is formatted is reported', async () => {
    const directory = tempDir()
    mkdirSync(`${directory}/small`)
    execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=200k', 'tmpfs', `${directory}/small`])
    onTestFinished(() => void execFileSync('umount', ['-l', `${directory}/small`]))
    const fault = await faultOf(newUpper(1, `${directory}/small`), FORMAT.words)
    expect(fault).toContain('FAULT the upper disk could not be formatted, writing to it failed')
  })

  test('F1 a machine killed while formatting formats again at its next start', async () => {
    const upper = newUpper()
    let hasBeenKilled = false
    // The disk has data but no superblock, which is written last.
    const watch = setInterval(() => {
      if (statSync(upper).blocks === 0 || hasBeenKilled) return
      hasBeenKilled = true
      kill()
    }, 1)
    let kill: () => void = () => undefined
    const killed = await boot(tiny, upper, {
      ...FORMAT,
      onStart: (child) => (kill = () => void child.kill('SIGKILL')),
    })
    clearInterval(watch)
    expect(hasBeenKilled).toBe(true)
    expect(saidByInit(killed)).not.toContain(READY)
    const again = saidByInit(await boot(tiny, upper, FORMAT))
    expect(again.at(-1)).toBe(READY)
  })
})

test('an image without an init is reported', async () => {
  const parts = await converter()
  execFileSync('rm', [`${parts.guestDir}/init`])
  const { manifest } = await convertTar(parts, pack(tinyTree()))
  const booted = await parts.store.resolve(manifest.digest)
  expect(saidByInit(await boot(booted, newUpper(), FORMAT))).toEqual([
    FORMATTED,
    'workspace-init: FAULT the image has neither /sbin/init nor /opt/workspace/init',
  ])
})
