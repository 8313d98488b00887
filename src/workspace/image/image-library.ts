import { messageOf } from '../../lib/errors/message.ts'
import { fault } from '../errors.ts'
import { parseImage } from '../image-reference.ts'
import type { BackendName } from '../backend-name.ts'
import type { ImageFacts, BackendImages, BackendImage, SurveyedImage } from './backend-images.ts'
import { isDigest } from './tag.ts'

/** Image settings from the configuration. */
export interface ImageDefaults {
  readonly backend: BackendName
  readonly image: string
  readonly aliases: ReadonlyMap<string, string>
}

/** An image and its role in the configuration. */
export interface LibraryImage extends BackendImage {
  /** `config`: named by the configuration; `user`: tagged by a user; `dangling`: neither. */
  readonly source: 'config' | 'user' | 'dangling'
  /** '' for none. */
  readonly alias: string
  readonly isDefault: boolean
}

/** Images of one backend and what needs them, or why that is unknown. */
export interface BackendSurvey {
  readonly backend: BackendName
  readonly images: readonly SurveyedImage[]
  readonly failure?: string
}

/**
 * The images of all backends. A caller may name the backend; otherwise the first backend that has the image
 * is used, starting with the default backend.
 */
export class ImageLibrary {
  readonly #all: readonly BackendImages[]
  readonly #defaults: ImageDefaults
  readonly #closing = new AbortController()
  readonly #underWay = new Set<Promise<unknown>>()

  constructor(backends: readonly BackendImages[], defaults: ImageDefaults) {
    const isFirst = ({ backend }: BackendImages): number => Number(backend === defaults.backend)
    this.#all = backends.toSorted((a, b) => isFirst(b) - isFirst(a))
    this.#defaults = defaults
  }

  /** Aborts pending work and waits for it to stop. */
  async close(): Promise<void> {
    this.#closing.abort(fault('BACKEND_UNAVAILABLE', 'the server is stopping'))
    await Promise.allSettled(this.#underWay)
  }

  /** Lists the existing images, and those that the configuration names but the default backend lacks. */
  async list(): Promise<readonly LibraryImage[]> {
    const all: LibraryImage[] = []
    for (const images of this.#all) all.push(...(await images.list()).map((image) => this.#described(image)))
    const [first] = this.#all
    if (first === undefined) return all
    const wanted = new Set([this.#defaults.image, ...this.#defaults.aliases.values()])
    for (const name of wanted) {
      if (all.some(({ backend, ...image }) => backend === first.backend && isCalled(image, name))) continue
      const nothing = { path: '', sizeBytes: 0, isCached: false, digest: '', tag: '', isInUse: false }
      all.push(
        this.#described({ name, backend: first.backend, dockerRef: isDigest(name) ? '' : name, ...nothing }),
      )
    }
    return all
  }

  /**
   * Returns an image and its details.
   *
   * @throws INVALID_REQUEST when the name is not valid
   * @throws IMAGE_NOT_FOUND when there is none
   */
  async inspect(
    text: string,
    { backend, verify }: { readonly backend?: BackendName | undefined; readonly verify: boolean },
  ): Promise<{ readonly image: LibraryImage; readonly facts: ImageFacts }> {
    const { images, name } = await this.#find(text, backend)
    const facts = await this.#follow(images.inspect(name, verify))
    const rows = (await images.list()).map((image) => this.#described(image))
    const image = rows.find((row) => isCalled(row, name)) ?? rows.find((row) => row.digest === facts.digest)
    if (image === undefined) throw notFound(name)
    return { image, facts }
  }

  async tag(source: string, target: string, backend?: BackendName): Promise<void> {
    const { images, name } = await this.#find(source, backend)
    await images.tag(name, target)
  }

  /** Validates a pull immediately; `make` starts the work. */
  preparePull(request: {
    readonly dockerRef: string
    readonly tag: string
    readonly backend?: BackendName | undefined
  }): {
    readonly make: (
      progress: (message: string) => void,
    ) => Promise<{ readonly tag: string; readonly digest: string }>
  } {
    const dockerRef = parseImage(request.dockerRef, this.#defaults.aliases)
    if (isDigest(dockerRef))
      throw fault('INVALID_REQUEST', `docker_ref ${dockerRef} is a digest, not a repository`)
    const images = this.#imagesOf(request.backend ?? this.#all[0]?.backend ?? this.#defaults.backend)
    const { signal } = this.#closing
    const pull = { dockerRef, tag: request.tag }
    return { make: (progress) => this.#follow(images.pull(pull, { progress, signal })) }
  }

  async remove(text: string, backend?: BackendName): Promise<void> {
    const { images, name } = await this.#find(text, backend)
    await images.remove(name)
  }

  /** Deletes the VM images that neither the configuration nor a workspace nor a snapshot needs. */
  async prune(isDryRun: boolean): Promise<readonly LibraryImage[]> {
    const pruned: LibraryImage[] = []
    for (const images of this.#all.filter(({ backend }) => backend !== 'docker')) {
      for (const { digest, rows, neededBy } of await this.#follow(images.survey())) {
        if (neededBy !== '' || rows.some((row) => this.#isConfigured(row))) continue
        if (isDryRun || (await this.discard(images.backend, digest)))
          pruned.push(...rows.map((row) => this.#described({ ...row, isInUse: false })))
      }
    }
    return pruned
  }

  /** Returns the images of each backend with what needs them, or why that is unknown. */
  async survey(): Promise<readonly BackendSurvey[]> {
    return Promise.all(
      this.#all.map(async (source) => {
        const { backend } = source
        try {
          const images = (await this.#follow(source.survey())).map((image) => {
            const isConfigured = image.rows.some((row) => this.#isConfigured(row))
            return isConfigured && image.neededBy === ''
              ? { ...image, neededBy: 'named by the configuration' }
              : image
          })
          return { backend, images }
        } catch (error) {
          return { backend, images: [], failure: messageOf(error) }
        }
      }),
    )
  }

  /** Deletes an image that nothing needs; returns false when something does. */
  async discard(backend: BackendName, digest: string): Promise<boolean> {
    return this.#follow(this.#imagesOf(backend).discard(digest, (row) => this.#isConfigured(row)))
  }

  #isConfigured(image: BackendImage): boolean {
    return this.#described(image).source === 'config'
  }

  async #find(
    text: string,
    backend: BackendName | undefined,
  ): Promise<{ readonly images: BackendImages; readonly name: string }> {
    const name = parseImage(text, this.#defaults.aliases)
    const backends = backend === undefined ? this.#all : [this.#imagesOf(backend)]
    for (const images of backends) if (await images.has(name)) return { images, name }
    throw notFound(name)
  }

  #imagesOf(backend: BackendName): BackendImages {
    const images = this.#all.find((each) => each.backend === backend)
    if (images !== undefined) return images
    throw fault('BACKEND_UNAVAILABLE', `backend ${backend} is not enabled`)
  }

  #described(image: BackendImage): LibraryImage {
    const { image: standard, aliases } = this.#defaults
    const alias = [...aliases].find(([, name]) => isCalled(image, name))?.[0] ?? ''
    const isDefault = isCalled(image, aliases.get(standard) ?? standard)
    const isNamed = image.tag !== '' || image.dockerRef !== ''
    const source = isDefault || alias !== '' ? 'config' : isNamed ? 'user' : 'dangling'
    return { ...image, source, alias, isDefault }
  }

  /** Registers work that `close` waits for. */
  async #follow<T>(work: Promise<T>): Promise<T> {
    this.#underWay.add(work)
    try {
      return await work
    } finally {
      this.#underWay.delete(work)
    }
  }
}

function isCalled(image: Pick<BackendImage, 'name' | 'tag' | 'dockerRef' | 'digest'>, name: string): boolean {
  return name !== '' && [image.name, image.tag, image.dockerRef, image.digest].includes(name)
}

function notFound(name: string) {
  return fault('IMAGE_NOT_FOUND', `image ${JSON.stringify(name)} not found; pull or build it`)
}
