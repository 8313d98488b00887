import type { DisposalStack } from '../../lib/lifetime/disposal-stack.ts'
import type { Logger } from '../../lib/log/logger.ts'
import { DockerImages } from '../backend/docker/images/images.ts'
import type { PulledImages } from '../backend/docker/images/pulled-images.ts'
import type { WorkspaceConfig } from '../config.ts'
import { ImageLibrary } from '../image/image-library.ts'
import { MicrovmImages } from '../image/microvm-images.ts'
import { converterOf, createImagePool, imageBackendsOf, openImageStore } from './open-images.ts'

/** Opens the images of all enabled backends. VM images are converted from the engine's images. */
export async function openImageLibrary(
  config: WorkspaceConfig,
  parts: {
    /**
     * Records which images this server pulled; absent when the engine's images do not belong to this server.
     */
    readonly pulled: PulledImages | undefined
    readonly guestDir: string | undefined
    readonly logger: Logger
    readonly opened: DisposalStack
  },
): Promise<ImageLibrary> {
  const { pulled, guestDir, logger, opened } = parts
  const engine = new DockerImages(config.docker.host, pulled)
  const backends = imageBackendsOf(config)
  const isListed = pulled !== undefined && config.enabledBackends.includes('docker')
  if (isListed || backends.length > 0) {
    await engine.open()
    opened.use(engine)
  }
  const pool = opened.use(createImagePool(logger))
  const vmImages = await Promise.all(
    backends.map(async (backend) => {
      const store = await openImageStore(config, backend)
      return new MicrovmImages(converterOf(config, store, backend, pool, guestDir), engine)
    }),
  )
  const { defaultBackend: backend, defaultImage: image, imageAliases: aliases } = config
  return new ImageLibrary([...(isListed ? [engine] : []), ...vmImages], { backend, image, aliases })
}
