import { createHash } from 'node:crypto'
import { readdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { ImageStore, type ImageStoreOptions } from '../../../../src/workspace/image/image-store.ts'
import { BOOT_FILES, type FileFacts, type Manifest } from '../../../../src/workspace/image/manifest.ts'
import { tempDir } from '../../temp-dir.ts'

/** Returns the digest of a content as in manifests: `sha256:` and hexadecimal digits. */
export const sha256 = (content: string | Buffer): string =>
  `sha256:${createHash('sha256').update(content).digest('hex')}`

/** A store in a directory of the test; nothing in it is pinned by default. */
export function openStore(options: Partial<ImageStoreOptions> = {}): Promise<ImageStore> {
  const { root = tempDir(), pinnedDigests = () => Promise.resolve(new Set<string>()) } = options
  return ImageStore.open({ root, pinnedDigests })
}

/** Stores an image whose files contain a few bytes, which is all that a store checks. */
export async function storeImage(store: ImageStore, content: string, tag?: string): Promise<Manifest> {
  const staging = await store.stage()
  const facts = (text: string): FileFacts => ({ digest: sha256(text), bytes: Buffer.byteLength(text) })
  for (const name of BOOT_FILES) writeFileSync(join(staging, name), `${name} ${content}`)
  const manifest = await store.publish(staging, {
    schemaVersion: 1,
    backend: 'qemu',
    arch: 'x64',
    sourceRef: content,
    sourceRefDigest: sha256(content),
    files: {
      'rootfs.ext4': facts(`rootfs.ext4 ${content}`),
      kernel: facts(`kernel ${content}`),
      initrd: facts(`initrd ${content}`),
    },
    rootfsPhysicalBytes: 4_096,
    kernelVersion: '6.1.0',
    conversionKey: sha256(`key ${content}`),
    createdAt: '2026-01-01T00:00:00.000Z',
  })
  if (tag !== undefined) await store.setTag(tag, manifest.digest, '')
  return manifest
}

/** Names of all entries in a store's image directory. */
export const allBlobs = (store: ImageStore): readonly string[] =>
  readdirSync(join(store.root, 'blobs/sha256'))
/** Returns the names of all complete blobs. */
export const wholeBlobs = (store: ImageStore) => allBlobs(store).filter((name) => !name.endsWith('.tmp'))
/** Returns the names of blobs that are still being written. */
export const unfinishedBlobs = (store: ImageStore) => allBlobs(store).filter((name) => name.endsWith('.tmp'))
