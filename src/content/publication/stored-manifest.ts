import { fault } from '../errors.ts'
import { changeObject } from '../store/change-object.ts'
import { discard, readObject } from '../store/read-object.ts'
import type { Store } from '../store/store.ts'
import {
  formatManifest,
  type Manifest,
  MANIFEST_FILE,
  MAX_MANIFEST_BYTES,
  NO_FILES,
  parseManifest,
} from './manifest.ts'

/** A manifest that is in the store. */
export interface StoredManifest {
  readonly manifest: Manifest
  /** Undefined if the store has none, or one that cannot be read. */
  readonly etag: string | undefined
}

/** Manifest of a folder without one. */
export const EMPTY_MANIFEST: Manifest = { files: NO_FILES, retired: new Map(), inPlace: new Map() }
const NONE: StoredManifest = { manifest: EMPTY_MANIFEST, etag: undefined }

/** Reads the manifest of a folder; an empty one if it is missing or unreadable, so that everything is published again. */
export async function readManifest(store: Store, folder: string): Promise<StoredManifest> {
  const read = await readObject(store, `${folder}${MANIFEST_FILE}`, MAX_MANIFEST_BYTES)
  if (typeof read === 'string') return NONE
  const manifest = parseManifest(read.bytes)
  return manifest === undefined ? NONE : { manifest, etag: read.etag }
}

/** Whether a folder has a manifest. */
export async function hasManifest(store: Store, folder: string): Promise<boolean> {
  const opened = await store.open(`${folder}${MANIFEST_FILE}`)
  if (typeof opened === 'string') return false
  discard(opened)
  return true
}

/** A manifest to write, or `same`, with a result. */
interface ManifestChange<T> {
  readonly next: Manifest | 'same'
  readonly result: T
}

/**
 * Changes the manifest of a folder, which publishes its files. Files that another process publishes meanwhile are in
 * the manifest with which `change` is called again.
 *
 * @param change receives undefined if the store has no manifest, or one that cannot be read
 * @throws PUBLISH_INVALID when the manifest is too large for servers
 * @throws PUBLISH_CONFLICT when other processes change it all the time
 */
export function changeManifest<T>(
  store: Store,
  folder: string,
  change: (before: Manifest | undefined) => Promise<ManifestChange<T>>,
): Promise<T> {
  return changeObject(store, {
    key: `${folder}${MANIFEST_FILE}`,
    maxBytes: MAX_MANIFEST_BYTES,
    async change(read) {
      const { next, result } = await change(read && parseManifest(read))
      if (next === 'same') return { is: 'same', result }
      const bytes = formatManifest(next)
      if (bytes.length > MAX_MANIFEST_BYTES)
        throw fault('PUBLISH_INVALID', `${next.files.size} files are too many for one repository or version`)
      return { is: 'new', bytes, result }
    },
  })
}
