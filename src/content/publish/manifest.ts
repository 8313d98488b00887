import { readAll } from '../cache/object-cache.ts'
import type { Store } from '../store/store.ts'
import type { Static } from 'typebox'
import { parseJson } from '../../lib/schema/parse-json.ts'
import { Type } from '../../lib/schema/type.ts'

/** File in which a repository or version records its published files and their hashes. */
export const MANIFEST_FILE = '_files.json'

const FORMAT = 1

const publishedSchema = Type.Object({
  sha256: Type.String(),
  size: Type.Integer({ minimum: 0 }),
  /** Whether compressed forms are stored beside it. */
  compressed: Type.Boolean(),
})
const manifestSchema = Type.Object({
  format: Type.Literal(FORMAT),
  files: Type.Record(Type.String(), publishedSchema),
})

/** A published file in the manifest. */
export type Published = Readonly<Static<typeof publishedSchema>>
/** Published files by path. */
export type Manifest = ReadonlyMap<string, Published>

/** Returns the paths of a published file and of its compressed forms. */
export function objectsOf([path, { compressed }]: readonly [string, Published]): readonly string[] {
  return compressed ? [path, `${path}.br`, `${path}.gz`] : [path]
}

const MAX_BYTES = 256 * 2 ** 20

/** Reads the manifest of the previous publish; empty if it is unreadable, so that everything is published again. */
export async function readManifest(store: Store, folder: string): Promise<Manifest> {
  const opened = await store.open(`${folder}${MANIFEST_FILE}`)
  if (typeof opened === 'string') return new Map()
  if (opened.size > MAX_BYTES) {
    opened.body.on('error', () => undefined).destroy()
    return new Map()
  }
  const bytes = await readAll(opened)
  return new Map(Object.entries(parseJson(manifestSchema, bytes.toString())?.files ?? {}))
}

/** Writes the manifest of a repository or version. */
export async function writeManifest(store: Store, folder: string, manifest: Manifest): Promise<void> {
  const text = JSON.stringify({ format: FORMAT, files: Object.fromEntries(manifest) })
  await store.write(`${folder}${MANIFEST_FILE}`, Buffer.from(text), { contentType: 'application/json' })
}
