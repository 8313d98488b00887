import { join } from 'node:path'
import type { Logger } from '../../lib/log/logger.ts'
import { Pool } from '../../lib/pool/pool.ts'
import { packageRoot } from '../../lib/process/package.ts'
import { readPinnedDigests } from '../backend/microvm/files/pinned-digests.ts'
import type { WorkspaceConfig } from '../config.ts'
import type { Converter } from '../image/convert/convert.ts'
import { type ImageBackend, imageDirOf, isImageBackend } from '../image/image-backend.ts'
import { ImageStore } from '../image/image-store.ts'
import { systemClock } from '../../lib/clock/clock.ts'

/** Directory to which `npm run build` writes the guest programs. */
export const GUEST_DIR = join(packageRoot, 'dist', 'guest')

/** Returns the enabled backends whose images are files of this server. */
export function imageBackendsOf(config: WorkspaceConfig): readonly ImageBackend[] {
  return config.enabledBackends.filter(isImageBackend)
}

/** Opens the configured image store of a backend. */
export function openImageStore(
  config: WorkspaceConfig,
  backend: ImageBackend,
  pinnedDigests: () => Promise<ReadonlySet<string>> = () => readPinnedDigests(config[backend].root),
): Promise<ImageStore> {
  return ImageStore.open({ root: join(config[backend].root, imageDirOf(backend)), pinnedDigests })
}

/** Returns the dependencies of image conversions for a backend. */
export function converterOf(
  config: WorkspaceConfig,
  store: ImageStore,
  backend: ImageBackend,
  pool: Pool,
  guestDir = GUEST_DIR,
): Converter {
  const kernel = { file: config.image.kernel, modules: config.image.modules }
  return { store, backend, pool, kernel, guestDir, clock: systemClock }
}

/** Creates a worker pool, in a separate process, for long-running image work. */
export function createImagePool(logger?: Logger): Pool {
  return new Pool({ name: 'image', maxThreads: 2, ...(logger && { logger }) })
}
