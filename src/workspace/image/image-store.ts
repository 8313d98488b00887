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
import { systemFault } from './system-fault.ts'
import { isDigest, isTag, parseTag } from './tag.ts'
import { type Tag, TagFiles, type TagReading } from './tag-files.ts'

export interface ImageStoreOptions {
  /** The directory that holds `blobs` and `tags`. */
  readonly root: string
  /**
   * The digests that workspaces and snapshots boot from.
   *
   * @throws when it cannot be told of any of them; every image counts as in use then
   */
  readonly pinnedDigests: () => Promise<ReadonlySet<string>>
}

/** What a VM boots from: paths are absolute, the digest is `sha256:…`. */
export interface BootImage {
  readonly digest: string
  readonly arch: string
  readonly directory: string
  readonly rootfs: string
  readonly kernel: string
  readonly initrd: string
}

/** An image in the store, with the tags that stand for it. */
export interface StoredImage {
  readonly digest: string
  readonly directory: string
  readonly reading: BlobReading
  readonly tags: readonly Tag[]
}

/** Everything in a store at one moment. */
export interface StoreContent {
  /** Also those that a tag stands for and that are not there. */
  readonly images: readonly StoredImage[]
  readonly unreadableTags: readonly Extract<TagReading, { is: 'unreadable' }>[]
}

/**
 * Images as directories named by their content, `blobs/sha256/<digest>`, and tags that stand for them. A directory is
 * filled under a name that ends in `.tmp` and renamed when all of it is on disk: what has its final name is whole.
 */
export class ImageStore {
  readonly root: string
  readonly preparation: Preparation
  readonly #blobs: string
  readonly #locks: string
  readonly #tags: TagFiles
  readonly #pinnedDigests: ImageStoreOptions['pinnedDigests']
  readonly #turns = new KeyedLock()

  /** Makes the directories where they are missing. */
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
   * The image that a tag, a digest or the Docker reference of a tag stands for, looked at without reading its large
   * files. It may be pruned until it is pinned: pin it, then resolve it again.
   *
   * @throws IMAGE_NOT_FOUND, and BACKEND_ERROR for one that is damaged
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

  /** The manifest of the image that a name stands for; throws as `resolve` does. */
  async get(name: string): Promise<{ readonly digest: string; readonly manifest: Manifest }> {
    const digest = await this.digestOf(name)
    const reading = await readBlob(this.directoryOf(digest), digest)
    if (reading.is === 'whole') return { digest, manifest: reading.manifest }
    const remedy = 'pull or build it again'
    if (reading.is === 'absent')
      throw fault('IMAGE_NOT_FOUND', `image ${shown(name)} is not in ${this.root}; ${remedy}`)
    throw fault('BACKEND_ERROR', `image ${shown(name)} is damaged (${reading.why}); ${remedy}`)
  }

  /** The digest that a name stands for, whether or not that image is there. @throws IMAGE_NOT_FOUND */
  async digestOf(name: string): Promise<string> {
    if (isDigest(name)) return name
    const tag = isTag(name) ? await this.#tags.find(name) : undefined
    if (tag?.is === 'known') return tag.digest
    if (tag?.is === 'unreadable')
      throw fault('BACKEND_ERROR', `image tag ${name} is damaged (${tag.why}); remove it and pull it again`)
    for (const each of await this.#tags.list())
      if (each.is === 'known' && each.dockerRef !== '' && each.dockerRef === name) return each.digest
    throw fault('IMAGE_NOT_FOUND', `no image is called ${shown(name)} in ${this.root}; pull or build it`)
  }

  directoryOf(digest: string): string {
    if (!isDigest(digest)) throw new Error(`${digest} is no digest`)
    return join(this.#blobs, digest.slice('sha256:'.length))
  }

  async list(): Promise<StoreContent> {
    const tags = await this.#tags.list()
    const known = tags.filter((tag) => tag.is === 'known')
    const there = (await readdir(this.#blobs)).map((name) => `sha256:${name}`).filter(isDigest)
    const digests = new Set([...there, ...known.map((tag) => tag.digest)])
    const images = await Promise.all(
      [...digests].toSorted().map(async (digest) => {
        const directory = this.directoryOf(digest)
        const reading = await readBlob(directory, digest)
        return { digest, directory, reading, tags: known.filter((tag) => tag.digest === digest) }
      }),
    )
    return { images, unreadableTags: tags.filter((tag) => tag.is === 'unreadable') }
  }

  /** Whether a workspace or a snapshot boots from an image. @throws what `pinnedDigests` throws */
  async pinned(): Promise<ReadonlySet<string>> {
    return this.#pinnedDigests()
  }

  /** Lets a tag stand for an image that is there, in place of what it stood for. @throws INVALID_REQUEST, IMAGE_NOT_FOUND */
  async setTag(tag: string, digest: string, dockerRef: string): Promise<void> {
    parseTag(tag)
    await this.exclusively(async () => {
      await this.get(digest)
      await this.#tags.write({ tag, digest, dockerRef })
    })
  }

  /** Takes a tag away; its image stays. @throws IMAGE_NOT_FOUND */
  async removeTag(tag: string): Promise<void> {
    parseTag(tag)
    await this.exclusively(async () => {
      const found = await this.#tags.find(tag)
      if (found === undefined) throw fault('IMAGE_NOT_FOUND', `no image tag ${tag} is in ${this.root}`)
      await this.#tags.remove(tag)
    })
  }

  /**
   * Deletes an image with its tags, unless it is in use: false then.
   *
   * @throws what `pinnedDigests` throws, and then deletes nothing
   */
  async remove(digest: string, mayRemove: (image: StoredImage) => boolean): Promise<boolean> {
    return this.exclusively(async () => {
      const content = await this.list()
      checkTags(content)
      const image = content.images.find((each) => each.digest === digest)
      if (image === undefined || !mayRemove(image) || (await this.pinned()).has(digest)) return false
      for (const { tag } of image.tags) await this.#tags.remove(tag)
      if (image.reading.is === 'absent') return true
      // A workspace that was made meanwhile has pinned it by now, or will look for it and not find it.
      const isStillWanted = async (): Promise<boolean> => !(await this.pinned()).has(digest)
      if (await discard(this.blobPlace, basename(image.directory), { isStillWanted })) return true
      for (const tag of image.tags) await this.#tags.write(tag)
      return false
    })
  }

  /** Where images are, for what is left of them. */
  get blobPlace(): TrashLocation {
    return { root: this.root, parent: 'blobs/sha256' }
  }

  /** Makes a directory to prepare an image in; whoever makes it removes it. A crash leaves it, named `*.tmp`. */
  async stage(): Promise<string> {
    const staging = this.#temporaryName()
    await mkdir(staging, { mode: 0o700 }).catch((error: unknown) => {
      throw systemFault('making room for an image', error)
    })
    return staging
  }

  /**
   * Takes a directory that holds the files of an image, all of them on disk, into the store under its digest. One that is
   * there and whole is kept, one that is damaged replaced.
   */
  async publish(filled: string, facts: Omit<Manifest, 'digest'>): Promise<Manifest> {
    const digest = digestOfParts(facts.arch, facts.files)
    const manifest = { ...facts, digest }
    await writeManifest(filled, manifest)
    return this.exclusively(async () => {
      const directory = this.directoryOf(digest)
      const there = await readBlob(directory, digest)
      if (there.is === 'whole') {
        // The same files, made from something else: VMs may have them open, so that only what is told of them changes.
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
   * Makes an image once, however many ask for it here and in other processes: the first converts, the others find what it
   * made. `onWait` is called where another is at it.
   */
  async once(
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

  /** Runs one change of names at a time, here and in other processes: an image that is being deleted may get its name back. */
  async exclusively<T>(work: () => Promise<T>): Promise<T> {
    return this.#turns.run('names', async () => {
      const release = await lockFile(join(this.#locks, 'names.lock'))
      try {
        return await work()
      } catch (error) {
        throw systemFault(`changing what is in ${this.root}`, error)
      } finally {
        await release()
      }
    })
  }

  #temporaryName(): string {
    return join(this.#blobs, `${randomBytes(8).toString('hex')}.tmp`)
  }
}

/** @throws BACKEND_ERROR where a tag may stand for any image */
export function checkTags({ unreadableTags: [unreadable] }: StoreContent): void {
  if (unreadable === undefined) return
  const { tag, why } = unreadable
  const remedy = 'remove that tag first'
  throw fault(
    'BACKEND_ERROR',
    `no image can be deleted while tag ${tag} may stand for it (${why}); ${remedy}`,
  )
}

function writeManifest(directory: string, manifest: Manifest): Promise<void> {
  return writeFileDurable(join(directory, MANIFEST_FILE), `${JSON.stringify(manifest, null, 2)}\n`, {
    mode: 0o600,
  })
}

function shown(name: string): string {
  return JSON.stringify(name.slice(0, 80))
}

/** Keeps apart those who prepare images in a store, in this process and others, and those who clear away what is left of that. */
class Preparation {
  readonly #lock: string

  constructor(lock: string) {
    this.#lock = lock
  }

  /** Runs what prepares an image, from its first file to its tag; nothing is cleared away meanwhile. */
  async during<T>(work: () => Promise<T>, signal?: AbortSignal): Promise<T> {
    const release = await lockFile(this.#lock, { kind: 'shared', signal })
    try {
      return await work()
    } finally {
      await release()
    }
  }

  /** Runs what clears away while nobody prepares an image; undefined while somebody does. */
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
