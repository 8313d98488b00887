import { fault } from '../errors.ts'
import { readObject } from '../store/read-object.ts'
import type { Store } from '../store/store.ts'
import {
  formatManifest,
  type Manifest,
  MANIFEST_FILE,
  MAX_MANIFEST_BYTES,
  parseManifest,
} from './manifest.ts'

/** A manifest that is in the store. */
export interface StoredManifest {
  readonly manifest: Manifest
  /** Undefined if the store has none, or one that cannot be read. */
  readonly etag: string | undefined
}

const NONE: StoredManifest = {
  manifest: { files: new Map(), retired: new Map(), inPlace: new Map() },
  etag: undefined,
}

/** Reads the manifest of a folder; an empty one if it is missing or unreadable, so that everything is published again. */
export async function readManifest(store: Store, folder: string): Promise<StoredManifest> {
  const read = await readObject(store, `${folder}${MANIFEST_FILE}`, MAX_MANIFEST_BYTES)
  if (typeof read === 'string') return NONE
  const manifest = parseManifest(read.bytes)
  return manifest === undefined ? NONE : { manifest, etag: read.etag }
}

/**
 * Replaces the manifest of a folder, which publishes its files.
 *
 * @throws PUBLISH_INVALID when it is too large for servers
 */
export async function writeManifest(store: Store, folder: string, manifest: Manifest): Promise<void> {
  const bytes = formatManifest(manifest)
  if (bytes.length > MAX_MANIFEST_BYTES)
    throw fault('PUBLISH_INVALID', `${manifest.files.size} files are too many for one repository or version`)
  await store.write(`${folder}${MANIFEST_FILE}`, bytes, { contentType: 'application/json' })
}
