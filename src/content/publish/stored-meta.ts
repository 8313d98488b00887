import { readAll } from '../cache/object-cache.ts'
import { formatMeta, META_FILE, parseMeta, type Repo } from '../repo/meta.ts'
import type { Store } from '../store/store.ts'

/** Reads a repository's metadata; only its name if there is none. */
export async function readMeta(store: Store, name: string, root: string): Promise<Repo> {
  const opened = await store.open(`${root}${META_FILE}`)
  return typeof opened === 'string' ? { name } : parseMeta(name, await readAll(opened))
}

/** Writes a repository's metadata. */
export async function writeMeta(store: Store, root: string, meta: Repo): Promise<void> {
  const text = `${JSON.stringify(formatMeta(meta), null, 2)}\n`
  await store.write(`${root}${META_FILE}`, Buffer.from(text), { contentType: 'application/json' })
}
