import { existsSync, symlinkSync } from 'node:fs'
import { mkdir } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { createPool } from '../../src/lib/pool/pool.ts'
import { convert } from '../../src/workspace/image/convert/convert.ts'
import { ImageStore } from '../../src/workspace/image/image-store.ts'
import { GUEST_DIR } from '../../src/workspace/image/open-images.ts'
import { tarSource } from '../../src/workspace/image/source/tar-source.ts'
import { baseTar, testKernel } from './vm-parts.ts'

/** What workspaces of these tests boot from: the base image with systemd, by its tag. */
export const VM_IMAGE = 'base'
const store = join(dirname(baseTar), 'images')

/** Makes the image once; a conversion for the same programs inside is found again. */
export async function makeVmImage(): Promise<void> {
  if (!existsSync(join(GUEST_DIR, 'agent.js'))) throw new Error(`${GUEST_DIR} is missing: npm run build`)
  const images = await ImageStore.open({ root: store, pinnedDigests: () => Promise.resolve(new Set()) })
  const pool = createPool({ name: 'image' })
  try {
    const { file, modules } = testKernel()
    const parts = {
      store: images,
      backend: 'qemu' as const,
      pool,
      kernel: { file, modules },
      guestDir: GUEST_DIR,
      now: () => new Date(),
    }
    const source = await tarSource(baseTar, parts)
    const { digest } = await convert(parts, source, { progress: () => undefined, signal: undefined })
    await source.close()
    await images.setTag(VM_IMAGE, digest, '')
  } finally {
    await pool.close()
  }
}

/** Lets a backend's root have these images. */
export async function shareVmImages(root: string): Promise<void> {
  await mkdir(root, { recursive: true })
  if (!existsSync(join(root, 'images'))) symlinkSync(store, join(root, 'images'))
}
