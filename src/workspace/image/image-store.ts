import { randomBytes } from 'node:crypto'
import { mkdir, readdir, rename, rm } from 'node:fs/promises'
import { basename, join } from 'node:path'
import { lockFile, tryLock } from '../../lib/fs/file-lock.ts'
import { discard, type TrashLocation } from '../../lib/fs/trash.ts'
import { syncDirectory, writeFileDurable } from '../../lib/fs/write-durable.ts'
import { KeyedLock } from '../../lib/process/keyed-lock.ts'
import { fault } from '../errors.ts'
import { digestOfParts, type Manifest } from './manifest.ts'
import { type BlobReading, MANIFEST_FILE, readBlob } from './read-blob.ts'
import { systemError } from './system-error.ts'
import { isDigest, isTag, parseTag } from './tag.ts'
import { type Tag, TagFiles, type TagReading } from './tag-files.ts'

/** Options of an image store. */
export interface ImageStoreOptions {
  /** Directory that contains `blobs` and `tags`. */
  readonly root: string
  /**
   * Returns the digests that workspaces and snapshots depend on.
   *
   * @throws when any of them is unknown; every image then counts as in use
   */
  readonly pinnedDigests: () => Promise<ReadonlySet<string>>
}

/** The files that a VM boots from: absolute paths, and a digest `sha256:…`. */
export interface BootImage {
  readonly digest: string
  readonly arch: string
  readonly directory: string
  readonly rootfs: string
  readonly kernel: string
  readonly initrd: string
}

/** An image in the store and its tags. */
export interface StoredImage {
  readonly digest: string
  readonly directory: string
  readonly reading: BlobReading
  readonly tags: readonly Tag[]
}

/** The content of a store at one moment. */
export interface StoreContent {
  /** Includes missing images that a tag refers to. */
  readonly images: readonly StoredImage[]
  readonly unreadableTags: readonly Extract<TagReading, { is: 'unreadable' }>[]
}

/**
 * Stores images in directories named by their content, `blobs/sha256/<digest>`, and the tags that refer to
 * them. A directory is filled under a name that ends in `.tmp` and renamed once it is entirely on disk, so
 * that a final name means a complete image.
 */
export class ImageStore {
  readonly root: string
  readonly preparation: Preparation
  readonly #blobs: string
  readonly #locks: string
  readonly #tags: TagFiles
  readonly #pinnedDigests: ImageStoreOptions['pinnedDigests']
  readonly #turns = new KeyedLock()

  /** Opens a store, creating missing directories. */
  static async open(options: ImageStoreOptions): Promise<ImageStore> {
    const store = new ImageStore(options)
    for (const directory of [store.#blobs, store.#locks, join(options.root, 'tags')])
      await mkdir(directory, { recursive: true, mode: 0o700 })
    return store
  }

  private constructor({ root, pinnedDigests }: ImageStoreOptions) {
    this.root = root
    this.#blobs = join(root, 'blobs', 'sha256')
    this.#locks = join(root, 'locks')
    this.preparation = new Preparation(join(this.#locks, 'preparing.lock'))
    this.#tags = new TagFiles(join(root, 'tags'))
    this.#pinnedDigests = pinnedDigests
  }

  /**
   * Resolves a tag, a digest or the Docker reference of a tag to an image, checked without reading its large
   * files. The image may be pruned until it is pinned: pin it, then resolve it again.
   *
   * @throws IMAGE_NOT_FOUND when there is none
   * @throws BACKEND_ERROR when it is damaged
   */
  async resolve(name: string): Promise<BootImage> {
    const { digest, manifest } = await this.get(name)
    const directory = this.directoryOf(digest)
    return {
      digest,
      arch: manifest.arch,
      directory,
      rootfs: join(directory, 'rootfs.ext4'),
      kernel: join(directory, 'kernel'),
      initrd: join(directory, 'initrd'),
    }
  }

  /** Returns an image's digest and manifest. @throws like `resolve` */
  async get(name: string): Promise<{ readonly digest: string; readonly manifest: Manifest }> {
    const digest = await this.digestOf(name)
    const reading = await readBlob(this.directoryOf(digest), digest)
    if (reading.is === 'whole') return { digest, manifest: reading.manifest }
    const remedy = 'pull or build it again'
    if (reading.is === 'absent')
      throw fault('IMAGE_NOT_FOUND', `image ${shown(name)} is not in ${this.root}; ${remedy}`)
    throw fault('BACKEND_ERROR', `image ${shown(name)} is damaged (${reading.why}); ${remedy}`)
  }

  /**
   * Resolves a name to a digest, whether or not that image exists.
   *
   * @throws IMAGE_NOT_FOUND when there is no such tag
   */
  async digestOf(name: string): Promise<string> {
    if (isDigest(name)) return name
    const tag = isTag(name) ? await this.#tags.find(name) : undefined
    if (tag?.is === 'valid') return tag.digest
    if (tag?.is === 'unreadable')
      throw fault('BACKEND_ERROR', `image tag ${name} is damaged (${tag.why}); remove it and pull it again`)
    for (const each of await this.#tags.list())
      if (each.is === 'valid' && each.dockerRef !== '' && each.dockerRef === name) return each.digest
    throw fault('IMAGE_NOT_FOUND', `image ${shown(name)} not found in ${this.root}; pull or build it`)
  }

  directoryOf(digest: string): string {
    if (!isDigest(digest)) throw new Error(`${digest} is not a digest`)
    return join(this.#blobs, digest.slice('sha256:'.length))
  }

  async list(): Promise<StoreContent> {
    const tags = await this.#tags.list()
    const valid = tags.filter((tag) => tag.is === 'valid')
    const there = (await readdir(this.#blobs)).map((name) => `sha256:${name}`).filter(isDigest)
    const digests = new Set([...there, ...valid.map((tag) => tag.digest)])
    const images = await Promise.all(
      [...digests].toSorted().map(async (digest) => {
        const directory = this.directoryOf(digest)
        const reading = await readBlob(directory, digest)
        return { digest, directory, reading, tags: valid.filter((tag) => tag.digest === digest) }
      }),
    )
    return { images, unreadableTags: tags.filter((tag) => tag.is === 'unreadable') }
  }

  /** Returns the digests that workspaces and snapshots depend on. @throws what `pinnedDigests` throws */
  async pinned(): Promise<ReadonlySet<string>> {
    return this.#pinnedDigests()
  }

  /**
   * Points a tag to an existing image, replacing its previous target.
   *
   * @throws INVALID_REQUEST when the tag is not valid
   * @throws IMAGE_NOT_FOUND when the image does not exist
   */
  async setTag(tag: string, digest: string, dockerRef: string): Promise<void> {
    parseTag(tag)
    await this.exclusively(async () => {
      await this.get(digest)
      await this.#tags.write({ tag, digest, dockerRef })
    })
  }

  /** Removes a tag; its image stays. @throws IMAGE_NOT_FOUND when there is no such tag */
  async removeTag(tag: string): Promise<void> {
    parseTag(tag)
    await this.exclusively(async () => {
      const found = await this.#tags.find(tag)
      if (found === undefined) throw fault('IMAGE_NOT_FOUND', `image tag ${tag} not found in ${this.root}`)
      await this.#tags.remove(tag)
    })
  }

  /**
   * Deletes an image with its tags; returns false when it is in use.
   *
   * @throws what `pinnedDigests` throws, and deletes nothing then
   */
  async remove(digest: string, mayRemove: (image: StoredImage) => boolean): Promise<boolean> {
    return this.exclusively(async () => {
      const content = await this.list()
      checkTags(content)
      const image = content.images.find((each) => each.digest === digest)
      if (image === undefined || !mayRemove(image) || (await this.pinned()).has(digest)) return false
      for (const { tag } of image.tags) await this.#tags.remove(tag)
      if (image.reading.is === 'absent') return true
      // A workspace created in the meantime has either pinned it by now, or will not find it.
      const isStillWanted = async (): Promise<boolean> => !(await this.pinned()).has(digest)
      if (await discard(this.blobDirectory, basename(image.directory), { isStillWanted })) return true
      for (const tag of image.tags) await this.#tags.write(tag)
      return false
    })
  }

  /** Parent directory of the images, for deletions. */
  get blobDirectory(): TrashLocation {
    return { root: this.root, parent: 'blobs/sha256' }
  }

  /**
   * Creates a directory for preparing an image, which the caller removes. After a crash it remains, named
   * `*.tmp`.
   */
  async stage(): Promise<string> {
    const staging = this.#temporaryName()
    await mkdir(staging, { mode: 0o700 }).catch((error: unknown) => {
      throw systemError('creating a directory for an image', error)
    })
    return staging
  }

  /**
   * Moves a directory with an image's files, which must be on disk, into the store under its digest. A
   * complete image with this digest is kept, a damaged one replaced.
   */
  async publish(filled: string, facts: Omit<Manifest, 'digest'>): Promise<Manifest> {
    const digest = digestOfParts(facts.arch, facts.files)
    const manifest = { ...facts, digest }
    await writeManifest(filled, manifest)
    return this.exclusively(async () => {
      const directory = this.directoryOf(digest)
      const there = await readBlob(directory, digest)
      if (there.is === 'whole') {
        // Same files from a different source: VMs may have them open, so only the manifest is replaced.
        await writeManifest(directory, manifest)
        return manifest
      }
      const aside = this.#temporaryName()
      if (there.is !== 'absent') await rename(directory, aside)
      await rename(filled, directory)
      await syncDirectory(this.#blobs)
      await rm(aside, { recursive: true, force: true })
      return manifest
    })
  }

  /**
   * Prepares an image once for all callers in this and other processes: the first one converts, the others
   * find its result. Calls `onWait` when it has to wait.
   */
  async singleflight(
    key: string,
    make: () => Promise<Manifest>,
    options: { readonly signal?: AbortSignal | undefined; readonly onWait: () => void },
  ): Promise<Manifest> {
    const work = async (): Promise<Manifest> => {
      options.signal?.throwIfAborted()
      const release = await lockFile(join(this.#locks, `${key.replace(':', '-')}.lock`), options)
      try {
        return (await this.#findByKey(key)) ?? (await make())
      } finally {
        await release()
      }
    }
    return this.#turns.run(key, work)
  }

  async #findByKey(key: string): Promise<Manifest | undefined> {
    for (const { reading } of (await this.list()).images)
      if (reading.is === 'whole' && reading.manifest.conversionKey === key) return reading.manifest
    return undefined
  }

  /**
   * Runs one change of names at a time, in this and other processes: a deletion in progress may restore a
   * name.
   */
  async exclusively<T>(work: () => Promise<T>): Promise<T> {
    return this.#turns.run('names', async () => {
      const release = await lockFile(join(this.#locks, 'names.lock'))
      try {
        return await work()
      } catch (error) {
        throw systemError(`changing the contents of ${this.root}`, error)
      } finally {
        await release()
      }
    })
  }

  #temporaryName(): string {
    return join(this.#blobs, `${randomBytes(8).toString('hex')}.tmp`)
  }
}

/** Checks that every tag is readable. @throws BACKEND_ERROR when a tag may refer to any image */
export function checkTags({ unreadableTags: [unreadable] }: StoreContent): void {
  if (unreadable === undefined) return
  const { tag, why } = unreadable
  const remedy = 'remove that tag first'
  throw fault('BACKEND_ERROR', `images cannot be deleted while tag ${tag} is unreadable (${why}); ${remedy}`)
}

function writeManifest(directory: string, manifest: Manifest): Promise<void> {
  return writeFileDurable(join(directory, MANIFEST_FILE), `${JSON.stringify(manifest, null, 2)}\n`, {
    mode: 0o600,
  })
}

function shown(name: string): string {
  return JSON.stringify(name.slice(0, 80))
}

/** Separates processes that prepare images in a store from those that remove the remains of preparations. */
class Preparation {
  readonly #lock: string

  constructor(lock: string) {
    this.#lock = lock
  }

  /** Runs the preparation of an image, from its first file to its tag; nothing is removed in the meantime. */
  async during<T>(work: () => Promise<T>, signal?: AbortSignal): Promise<T> {
    const release = await lockFile(this.#lock, { kind: 'shared', signal })
    try {
      return await work()
    } finally {
      await release()
    }
  }

  /** Runs a cleanup while no image is being prepared; resolves to undefined when one is. */
  async whileNone<T>(work: () => Promise<T>): Promise<T | undefined> {
    const release = await tryLock(this.#lock, () => undefined)
    if (release === 'taken') return undefined
    try {
      return await work()
    } finally {
      await release()
    }
  }
}
