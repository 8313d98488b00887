import { execFileSync } from 'node:child_process'
import { existsSync, renameSync, symlinkSync } from 'node:fs'
import { mkdir } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { Pool } from '../../../src/lib/pool/pool.ts'
import { convert } from '../../../src/workspace/image/convert/convert.ts'
import { ImageStore } from '../../../src/workspace/image/image-store.ts'
import { GUEST_DIR } from '../../../src/workspace/assembly/open-images.ts'
import { tarSource } from '../../../src/workspace/image/source/tar-source.ts'
import { TEST_IMAGE } from '../engine/docker.ts'
import { baseTar, testKernel } from './vm-parts.ts'
import { systemClock } from '../../../src/lib/clock/clock.ts'

/** Tag of the image that workspaces in these tests boot from: the base image with systemd. */
export const VM_IMAGE = 'base'
const store = join(dirname(baseTar), 'images')

/**
 * Converts the images once; a conversion with the same guest programs is reused. The second one is the
 * container image, which has no init and boots in a third of the time.
 */
export async function makeVmImages(): Promise<void> {
  if (!existsSync(join(GUEST_DIR, 'agent.js'))) throw new Error(`${GUEST_DIR} is missing: npm run build`)
  const images = await ImageStore.open({ root: store, pinnedDigests: () => Promise.resolve(new Set()) })
  const pool = new Pool({ name: 'image' })
  try {
    await make(images, pool, baseTar, VM_IMAGE, '')
    await make(images, pool, exportedImage(), 'containers', TEST_IMAGE)
    // Those with programs of an earlier build.
    for (const { digest } of (await images.list()).images)
      await images.remove(digest, ({ tags }) => tags.length === 0)
  } finally {
    await pool.close()
  }
}

async function make(
  images: ImageStore,
  pool: Pool,
  tar: string,
  tag: string,
  dockerRef: string,
): Promise<void> {
  const { file, modules } = testKernel()
  const parts = {
    store: images,
    backend: 'qemu' as const,
    pool,
    kernel: { file, modules },
    guestDir: GUEST_DIR,
    clock: systemClock,
  }
  const source = await tarSource(tar, parts)
  const { digest } = await convert(parts, source, { progress: () => undefined, signal: undefined })
  await source.close()
  await images.setTag(tag, digest, dockerRef)
}

/** The container image's files as an archive, cached while the image is unchanged. */
function exportedImage(): string {
  const docker = (...argv: readonly string[]) => execFileSync('docker', argv, { encoding: 'utf8' }).trim()
  const id = docker('image', 'inspect', '--format', '{{.Id}}', TEST_IMAGE).replace('sha256:', '')
  const file = join(dirname(baseTar), `container-${id.slice(0, 16)}.tar`)
  if (existsSync(file)) return file
  const container = docker('create', TEST_IMAGE)
  docker('export', '--output', `${file}.part`, container)
  docker('rm', container)
  renameSync(`${file}.part`, file)
  return file
}

/** Makes the images available below a backend's root. */
export async function shareVmImages(root: string): Promise<void> {
  await mkdir(root, { recursive: true })
  if (!existsSync(join(root, 'images'))) symlinkSync(store, join(root, 'images'))
}
