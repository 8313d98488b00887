import type { ImageInspectInfo } from 'dockerode'
import { isFault } from '../../../../lib/errors/fault.ts'
import { messageOf } from '../../../../lib/errors/message.ts'
import { fault, unavailable } from '../../../errors.ts'
import type {
  ImageFacts,
  BackendImages,
  ImageWork,
  PullRequest,
  RootfsEngine,
  BackendImage,
  SurveyedImage,
} from '../../../image/backend-images.ts'
import type { RootfsSource } from '../../../image/source/rootfs-source.ts'
import { DockerEngine, engineStatus, REMOVAL_DEADLINE_MS } from '../engine/engine.ts'
import { exportRootfs } from './export-rootfs.ts'
import { findImage, isReference, pullImage, splitVariable } from './image.ts'
import type { PulledImages } from './pulled-images.ts'

/** Node's names for architectures that engines name differently. */
const ARCHITECTURES: Readonly<Record<string, string>> = { amd64: 'x64', '386': 'ia32' }

/** The engine's images: those of the docker backend, and the sources of VM images. */
export class DockerImages implements BackendImages, RootfsEngine {
  readonly backend = 'docker'
  readonly #engine: DockerEngine
  readonly #pulled: PulledImages | undefined

  /** @param pulled records the images this server pulls */
  constructor(host: string | undefined, pulled?: PulledImages) {
    this.#engine = new DockerEngine(host)
    this.#pulled = pulled
  }

  async open(): Promise<void> {
    await this.#engine.open(() => undefined)
  }

  async close(): Promise<void> {
    await this.#engine.close()
  }

  /** Returns no images while the engine does not respond: those of other backends are listed all the same. */
  async list(): Promise<readonly BackendImage[]> {
    if (!this.#engine.isAvailable) return []
    const { docker } = this.#engine
    const images = await this.#engine.call('listing images', (abortSignal) =>
      docker.listImages({ abortSignal }),
    )
    const containers = await this.#engine.call('listing containers', (abortSignal) =>
      docker.listContainers({ all: true, abortSignal }),
    )
    const used = new Set(containers.map(({ ImageID }) => ImageID))
    return images.flatMap(({ Id, RepoTags, Size }) => {
      const row = {
        backend: 'docker',
        path: Id,
        sizeBytes: Size,
        isCached: true,
        digest: Id,
        isInUse: used.has(Id),
      } as const
      const tags = (RepoTags ?? []).filter((tag) => tag !== '<none>:<none>')
      if (tags.length === 0) return [{ ...row, name: Id, dockerRef: '', tag: '' }]
      return tags.map((tag) => ({ ...row, name: tag, dockerRef: tag, tag }))
    })
  }

  async has(name: string): Promise<boolean> {
    return this.#engine.isAvailable && (await this.#find(name)) !== undefined
  }

  /** Returns what the engine reports. It keeps no digest of the unpacked content that could be verified. */
  async inspect(name: string): Promise<ImageFacts> {
    const { Id, Architecture, Size, RepoTags, RepoDigests, Created } = await this.#get(name)
    return {
      schemaVersion: 1,
      digest: Id,
      backend: 'docker',
      arch: archOf(Architecture),
      sourceRef: RepoTags[0] ?? name,
      sourceRefDigest: RepoDigests[0]?.split('@')[1] ?? Id,
      kernelBytes: 0,
      initrdBytes: 0,
      rootfsLogicalBytes: Size,
      rootfsPhysicalBytes: Size,
      createdAt: Created,
    }
  }

  async tag(source: string, target: string): Promise<void> {
    const { repo, tag } = splitReference(target)
    await this.#call(source, 'tagging', (abortSignal) =>
      this.#engine.docker.getImage(source).tag({ repo, tag, abortSignal }),
    )
  }

  async pull(
    { dockerRef, tag }: PullRequest,
    work: ImageWork,
  ): Promise<{ readonly tag: string; readonly digest: string }> {
    await pullImage(this.#engine, dockerRef, { ...work, pulled: this.#pulled })
    if (tag !== '') await this.tag(dockerRef, tag)
    return { tag: tag === '' ? dockerRef : tag, digest: (await this.#get(dockerRef)).Id }
  }

  async remove(name: string): Promise<void> {
    try {
      const image = this.#engine.docker.getImage(name)
      await this.#call(name, 'removing', (abortSignal) => image.remove({ abortSignal }), {
        deadlineMs: REMOVAL_DEADLINE_MS,
      })
    } catch (error) {
      if (engineStatus(error) !== 409) throw error
      throw fault('IMAGE_IN_USE', `image ${name} is in use: ${messageOf(error)}`, error)
    }
  }

  /** Returns only the images that this server pulled: the others belong to other users of the engine. */
  async survey(): Promise<readonly SurveyedImage[]> {
    if (!this.#engine.isAvailable) throw unavailable(this.#engine.whyUnavailable ?? '')
    const ours = (await this.#pulled?.list()) ?? new Set()
    const byId = Map.groupBy(await this.list(), ({ digest }) => digest)
    return [...byId]
      .filter(([digest]) => ours.has(digest))
      .map(([digest, rows]) => {
        const { isInUse = true, sizeBytes = 0 } = rows[0] ?? {}
        return {
          digest,
          rows,
          path: digest,
          isThere: true,
          neededBy: isInUse ? 'used by a container' : '',
          createdAt: new Date(0),
          size: { files: 0, logicalBytes: sizeBytes, physicalBytes: sizeBytes },
        }
      })
  }

  /** Never forces the removal: the engine refuses while any container uses the image. */
  async discard(digest: string, isKept: (image: BackendImage) => boolean): Promise<boolean> {
    const image = (await this.survey()).find((each) => each.digest === digest)
    if (image === undefined || image.neededBy !== '' || image.rows.some(isKept)) return false
    for (const { name } of image.rows) await this.remove(name)
    await this.#pulled?.remove(digest)
    return true
  }

  /**
   * Returns the image of a reference. An image that was built locally has no registry and is used as it is.
   * Others are pulled; if that fails, the engine's copy is used, and the failure is reported as progress.
   */
  async source(dockerRef: string, work: ImageWork): Promise<RootfsSource> {
    const local = await this.#find(dockerRef)
    const isBuiltLocally = local !== undefined && local.RepoDigests.length === 0
    if (!isBuiltLocally) {
      try {
        await pullImage(this.#engine, dockerRef, { ...work, pulled: this.#pulled })
      } catch (error) {
        if (
          local === undefined ||
          work.signal.aborted ||
          (isFault(error) && error.code === 'BACKEND_UNAVAILABLE')
        )
          throw error
        work.progress(`pulling ${dockerRef} failed (${messageOf(error)}); using the local copy`)
      }
    }
    const { Id, Architecture, Config } = await this.#get(dockerRef)
    return {
      ref: dockerRef,
      digest: Id,
      arch: archOf(Architecture),
      config: {
        user: Config.User ?? '',
        workDir: Config.WorkingDir ?? '',
        environment: Object.fromEntries((Config.Env ?? []).map(splitVariable)),
      },
      open: (signal) => exportRootfs(this.#engine, Id, signal),
    }
  }

  async #find(name: string): Promise<ImageInspectInfo | undefined> {
    // Only another backend's image can have such a name.
    return isReference(name) ? findImage(this.#engine, name) : undefined
  }

  async #get(name: string): Promise<ImageInspectInfo> {
    const found = await this.#find(name)
    if (found !== undefined) return found
    throw notFound(name)
  }

  async #call(
    name: string,
    what: string,
    work: (signal: AbortSignal) => Promise<unknown>,
    limit: { readonly deadlineMs?: number } = {},
  ): Promise<void> {
    if (!isReference(name)) throw notFound(name)
    try {
      await this.#engine.call(`${what} image ${name}`, work, limit)
    } catch (error) {
      throw engineStatus(error) === 404 ? notFound(name) : error
    }
  }
}

function notFound(name: string) {
  return fault('IMAGE_NOT_FOUND', `the engine has no image ${name}; pull it`)
}

function archOf(architecture: string): string {
  return ARCHITECTURES[architecture] ?? architecture
}

/**
 * Splits a reference into repository and tag. A colon before the last slash belongs to a registry's port.
 *
 * @throws INVALID_REQUEST when the reference is invalid
 */
function splitReference(reference: string): { readonly repo: string; readonly tag: string } {
  const at = reference.indexOf(':', reference.lastIndexOf('/') + 1)
  const [repo, tag] = at === -1 ? [reference, 'latest'] : [reference.slice(0, at), reference.slice(at + 1)]
  if (isReference(reference)) return { repo, tag }
  throw fault(
    'INVALID_REQUEST',
    `image tag ${JSON.stringify(reference.slice(0, 80))} is not a valid image reference`,
  )
}
