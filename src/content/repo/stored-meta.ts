import { readObject } from '../store/read-object.ts'
import type { Store } from '../store/store.ts'
import { formatMeta, MAX_META_BYTES, META_FILE, parseMeta, type Repo } from './meta.ts'

/** Reads a repository's metadata; only its name if there is none. */
export async function readMeta(store: Store, name: string, root: string): Promise<Repo> {
  const read = await readObject(store, `${root}${META_FILE}`, MAX_META_BYTES)
  return typeof read === 'string' ? { name } : parseMeta(name, read.bytes)
}

/** Writes a repository's metadata. */
export async function writeMeta(store: Store, root: string, meta: Repo): Promise<void> {
  const text = `${JSON.stringify(formatMeta(meta), null, 2)}\n`
  await store.write(`${root}${META_FILE}`, Buffer.from(text), { contentType: 'application/json' })
}
