import { readdir } from 'node:fs/promises'
import { join } from 'node:path'
import type { Logger } from '../../lib/log/logger.ts'
import { createPool, type Pool } from '../../lib/pool/pool.ts'
import { packageRoot } from '../../lib/process/package.ts'
import type { WorkspaceConfig } from '../config.ts'
import { fault } from '../errors.ts'
import type { Converter } from './convert/convert.ts'
import { type ImageBackend, imageDirOf, isImageBackend } from './image-backend.ts'
import { ImageStore } from './image-store.ts'

/** Where `npm run build` leaves the programs for guests. */
export const GUEST_DIR = join(packageRoot, 'dist', 'guest')

/** The backends of a configuration whose images are files of ours. */
export function imageBackendsOf(config: WorkspaceConfig): readonly ImageBackend[] {
  return config.enabledBackends.filter(isImageBackend)
}

/** The store of a backend's images, as the configuration has it. */
export function openImageStore(
  config: WorkspaceConfig,
  backend: ImageBackend,
  pinnedDigests: () => Promise<ReadonlySet<string>> = () => pinnedBelow(config[backend].root),
): Promise<ImageStore> {
  return ImageStore.open({ root: join(config[backend].root, imageDirOf(backend)), pinnedDigests })
}

/** What conversions for a backend need. */
export function converterOf(
  config: WorkspaceConfig,
  store: ImageStore,
  backend: ImageBackend,
  pool: Pool,
  guestDir = GUEST_DIR,
): Converter {
  const kernel = { file: config.image.kernel, modules: config.image.modules }
  return { store, backend, pool, kernel, guestDir, now: () => new Date() }
}

/** Threads, in a process of their own, for what takes long. */
export function createImagePool(logger?: Logger): Pool {
  return createPool({ name: 'image', maxThreads: 2, ...(logger && { logger }) })
}

/** Nothing boots from images as long as there are no workspaces; once there are, it is for their backend to tell. */
async function pinnedBelow(root: string): Promise<ReadonlySet<string>> {
  for (const kind of ['instances', 'snapshots']) {
    const names = await readdir(join(root, kind)).catch((error: unknown) => {
      if ((error as NodeJS.ErrnoException).code === 'ENOENT') return []
      throw error
    })
    const [name] = names
    if (name !== undefined)
      throw fault(
        'BACKEND_ERROR',
        `which images are in use cannot be told: ${join(root, kind, name)} is not known`,
      )
  }
  return new Set()
}
