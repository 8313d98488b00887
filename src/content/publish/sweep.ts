import { isContentKey } from '../publication/content-key.ts'
import { type Manifest, MANIFEST_FILE } from '../publication/manifest.ts'
import { changeManifest, readManifest } from '../publication/stored-manifest.ts'
import { mapConcurrently } from '../repo/repo-list.ts'
import { discard } from '../store/read-object.ts'
import type { Store } from '../store/store.ts'
import { isSameManifest } from './next-manifest.ts'

const PARALLEL = 16
/** How long objects that are no longer published are kept, at least. */
const KEPT_MS = 24 * 3_600_000

/** Returns how long objects that are no longer published are kept. @param ttlMs `cache.ttl` of the servers */
export function keptMs(ttlMs: number): number {
  return Math.max(KEPT_MS, 2 * ttlMs)
}

/**
 * Deletes the objects that were retired long enough ago, and then removes them from the manifest. Deletes nothing more
 * once another publish has replaced the manifest: it may use them.
 */
export async function sweepRetired(
  store: Store,
  target: string,
  manifest: Manifest,
  beforeMs: number,
): Promise<void> {
  const due = [...manifest.retired].filter(([, since]) => since < beforeMs)
  if (due.length === 0) return
  const { manifest: current, etag } = await readManifest(store, target)
  if (!isSameManifest(current, manifest)) return
  for (let first = 0; first < due.length; first += PARALLEL) {
    const opened = await store.open(target + MANIFEST_FILE, { ifNoneMatch: etag })
    if (typeof opened !== 'string') discard(opened)
    if (opened !== 'unchanged') return
    await mapConcurrently(PARALLEL, due.slice(first, first + PARALLEL), async ([key, since]) => {
      if (await isUnchanged(store, target, key, since)) await store.remove(target + key)
    })
  }
  const retired = new Map(manifest.retired)
  for (const [key] of due) retired.delete(key)
  await changeManifest(store, target, async (found) => ({
    next: found !== undefined && isSameManifest(found, manifest) ? { ...manifest, retired } : 'same',
    result: undefined,
  }))
}

/** Whether an object is still the one that was retired: other programs may write to keys outside the contents. */
async function isUnchanged(store: Store, target: string, key: string, sinceMs: number): Promise<boolean> {
  if (isContentKey(key)) return true
  const opened = await store.open(target + key)
  if (typeof opened === 'string') return false
  discard(opened)
  return opened.lastModifiedMs <= sinceMs
}

/**
 * Removes what killed runs have left of writes to contents, and to paths, under which earlier versions of this program
 * stored files.
 */
export async function removeUnfinished(
  store: Store,
  target: string,
  paths: () => Iterable<string>,
  beforeMs: number,
): Promise<void> {
  let ours: ReadonlySet<string> | undefined
  const isOurs = (key: string): boolean => {
    const path = key.slice(target.length)
    if (isContentKey(path)) return true
    ours ??= new Set(paths())
    return ours.has(path)
  }
  await store.removeUnfinished(target, isOurs, beforeMs)
}
