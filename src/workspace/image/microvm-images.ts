import { isFault } from '../../lib/errors/fault.ts'
import { ignore } from '../../lib/errors/ignore.ts'
import { workerFile } from '../../lib/pool/worker-file.ts'
import { fault } from '../errors.ts'
import { convert, type Converter } from './convert/convert.ts'
import type {
  ImageFacts,
  BackendImages,
  ImageWork,
  PullRequest,
  RootfsEngine,
  BackendImage,
  SurveyedImage,
} from './backend-images.ts'
import { checkTags, type ImageStore, type StoredImage } from './image-store.ts'
import { BOOT_FILES, type FileFacts, type Manifest } from './manifest.ts'
import { isDigest, parseTag, tagOfReference } from './tag.ts'

/** Images of a VM backend: directories of a store, converted from an engine's images. */
export class MicrovmImages implements BackendImages {
  readonly #converter: Converter
  readonly #store: ImageStore
  readonly #engine: RootfsEngine

  constructor(converter: Converter, engine: RootfsEngine) {
    this.#converter = converter
    this.#store = converter.store
    this.#engine = engine
  }

  get backend(): Converter['backend'] {
    return this.#converter.backend
  }

  async list(): Promise<readonly BackendImage[]> {
    const { images, unreadableTags } = await this.#store.list()
    const pins = await this.#store.pinned().catch(ignore('every image then counts as used'))
    const rows = images.flatMap((image) => this.#rowsOf(image, pins === undefined || pins.has(image.digest)))
    const unreadable = unreadableTags.map(({ tag }) => ({ ...this.#blank(tag), tag, isInUse: true }))
    return [...rows, ...unreadable]
  }

  async has(name: string): Promise<boolean> {
    try {
      const digest = await this.#store.digestOf(name)
      return !isDigest(name) || (await this.#find(digest)) !== undefined
    } catch (error) {
      if (isFault(error) && error.code === 'IMAGE_NOT_FOUND') return false
      // A damaged image exists, too.
      return true
    }
  }

  async inspect(name: string, verify: boolean): Promise<ImageFacts> {
    const { digest, manifest } = await this.#store.get(name)
    if (verify) await this.#verify(digest, manifest)
    const { schemaVersion, backend, arch, sourceRef, sourceRefDigest, files, createdAt } = manifest
    return {
      schemaVersion,
      digest,
      backend,
      arch,
      sourceRef,
      sourceRefDigest,
      createdAt,
      kernelBytes: files.kernel.bytes,
      initrdBytes: files.initrd.bytes,
      rootfsLogicalBytes: files['rootfs.ext4'].bytes,
      rootfsPhysicalBytes: manifest.rootfsPhysicalBytes,
    }
  }

  async tag(source: string, target: string): Promise<void> {
    parseTag(target)
    const { digest } = await this.#store.get(source)
    await this.#store.setTag(target, digest, '')
  }

  async pull(
    { dockerRef, tag: given }: PullRequest,
    work: ImageWork,
  ): Promise<{ readonly tag: string; readonly digest: string }> {
    const tag = given === '' ? tagOfReference(dockerRef) : parseTag(given)
    return this.#store.preparation.during(async () => {
      const source = await this.#engine.source(dockerRef, work)
      const { digest } = await convert(this.#converter, source, work)
      await this.#store.setTag(tag, digest, dockerRef)
      return { tag, digest }
    }, work.signal)
  }

  async remove(name: string): Promise<void> {
    if (!isDigest(name)) return this.#store.removeTag(await this.#tagOf(name))
    const image = await this.#find(name)
    if (image === undefined) throw fault('IMAGE_NOT_FOUND', `image ${name} not found in ${this.#store.root}`)
    const [tag] = image.tags
    if (tag !== undefined) throw inUse(name, `tag ${tag.tag} refers to it; remove the tag first`)
    if (!(await this.#store.remove(name, ({ tags }) => tags.length === 0)))
      throw inUse(name, 'a workspace or snapshot uses it; delete that first')
  }

  async survey(): Promise<readonly SurveyedImage[]> {
    // Fails rather than returning an empty list.
    const pins = await this.#store.pinned()
    const content = await this.#store.list()
    checkTags(content)
    return content.images.map((image) => {
      const { digest, directory, reading } = image
      const isPinned = pins.has(digest)
      return {
        digest,
        rows: this.#rowsOf(image, isPinned),
        path: directory,
        isThere: reading.is !== 'absent',
        neededBy: isPinned ? 'used by a workspace or snapshot' : '',
        createdAt: new Date(reading.is === 'whole' ? reading.manifest.createdAt : 0),
      }
    })
  }

  async discard(digest: string, isKept: (image: BackendImage) => boolean): Promise<boolean> {
    const mayRemove = (image: StoredImage): boolean => !this.#rowsOf(image, false).some(isKept)
    const removal = this.#store.preparation.whileNone(() => this.#store.remove(digest, mayRemove))
    return (await removal) ?? false
  }

  async #find(digest: string): Promise<StoredImage | undefined> {
    return (await this.#store.list()).images.find((image) => image.digest === digest)
  }

  /** Returns the tag for a name, which may be the reference that the tag was pulled from. */
  async #tagOf(name: string): Promise<string> {
    const { images } = await this.#store.list()
    const tags = images.flatMap((image) => image.tags)
    return (
      (tags.find(({ tag }) => tag === name) ?? tags.find(({ dockerRef }) => dockerRef === name))?.tag ?? name
    )
  }

  async #verify(digest: string, manifest: Manifest): Promise<void> {
    const { pool } = this.#converter
    for (const name of BOOT_FILES) {
      const path = `${this.#store.directoryOf(digest)}/${name}`
      const found = (await pool.run(workerFile('image-facts'), { path })) as FileFacts
      const wanted = manifest.files[name].digest
      if (found.digest !== wanted)
        throw fault(
          'BACKEND_ERROR',
          `image ${digest} is damaged: ${path} has digest ${found.digest}, expected ${wanted}; ` +
            'delete the image and pull or build it again',
        )
    }
  }

  #rowsOf({ digest, directory, reading, tags }: StoredImage, isInUse: boolean): readonly BackendImage[] {
    const manifest = reading.is === 'whole' ? reading.manifest : undefined
    const { kernel, initrd } = manifest?.files ?? {}
    const row = {
      backend: this.backend,
      path: directory,
      sizeBytes: (manifest?.rootfsPhysicalBytes ?? 0) + (kernel?.bytes ?? 0) + (initrd?.bytes ?? 0),
      isCached: manifest !== undefined,
      digest,
      isInUse,
    }
    if (tags.length === 0) return [{ ...row, name: digest, tag: '', dockerRef: '' }]
    return tags.map(({ tag, dockerRef }) => ({ ...row, name: tag, tag, dockerRef }))
  }

  #blank(name: string): BackendImage {
    const nothing = {
      path: '',
      dockerRef: '',
      sizeBytes: 0,
      isCached: false,
      digest: '',
      tag: '',
      isInUse: false,
    }
    return { name, backend: this.backend, ...nothing }
  }
}

function inUse(name: string, why: string) {
  return fault('IMAGE_IN_USE', `image ${name} is in use: ${why}`)
}
