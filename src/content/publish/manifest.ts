import { readAll } from '../cache/object-cache.ts'
import type { Store } from '../store/store.ts'

/** Where a repository, or a version of it, keeps what was published of it, and from which bytes. */
export const MANIFEST_FILE = '_files.json'

export interface Published {
  readonly sha256: string
  readonly size: number
  /** Whether compressed forms are beside it. */
  readonly compressed: boolean
}

export type Manifest = ReadonlyMap<string, Published>

const FORMAT = 1
const MAX_BYTES = 256 * 2 ** 20

/** What an earlier publish has left; empty where that cannot be read, and everything is then published anew. */
export async function readManifest(store: Store, folder: string): Promise<Manifest> {
  const opened = await store.open(`${folder}${MANIFEST_FILE}`)
  if (typeof opened === 'string') return new Map()
  if (opened.size > MAX_BYTES) {
    opened.body.on('error', () => undefined).destroy()
    return new Map()
  }
  const bytes = await readAll(opened)
  try {
    const { format, files } = JSON.parse(bytes.toString()) as {
      readonly format: unknown
      readonly files: Readonly<Record<string, Published>>
    }
    return new Map(format === FORMAT ? Object.entries(files) : [])
  } catch {
    return new Map()
  }
}

export async function writeManifest(store: Store, folder: string, manifest: Manifest): Promise<void> {
  const text = JSON.stringify({ format: FORMAT, files: Object.fromEntries(manifest) })
  await store.write(`${folder}${MANIFEST_FILE}`, Buffer.from(text), { contentType: 'application/json' })
}
