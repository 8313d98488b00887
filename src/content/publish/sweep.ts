import { isContentKey, type Manifest } from '../publication/manifest.ts'
import { readManifest, writeManifest } from '../publication/stored-manifest.ts'
import { mapConcurrently } from '../repo/repo-list.ts'
import { discard } from '../store/read-object.ts'
import type { Store } from '../store/store.ts'
import { isSameManifest } from './next-manifest.ts'

const PARALLEL = 16

/**
 * Deletes the objects that were retired long enough ago, and then removes them from the manifest. Deletes nothing if
 * another publish has replaced the manifest.
 */
export async function sweepRetired(
  store: Store,
  target: string,
  manifest: Manifest,
  beforeMs: number,
): Promise<void> {
  const due = [...manifest.retired].filter(([, since]) => since < beforeMs)
  if (due.length === 0) return
  const current = await readManifest(store, target)
  if (!isSameManifest(current.manifest, manifest)) return
  await mapConcurrently(PARALLEL, due, async ([key, since]) => {
    if (await isUnchanged(store, target, key, since)) await store.remove(target + key)
  })
  const retired = new Map(manifest.retired)
  for (const [key] of due) retired.delete(key)
  await writeManifest(store, target, { ...manifest, retired })
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
  paths: readonly string[],
  beforeMs: number,
): Promise<void> {
  const ours = new Set(paths)
  const isOurs = (key: string): boolean => {
    const path = key.slice(target.length)
    return ours.has(path) || isContentKey(path)
  }
  await store.removeUnfinished(target, isOurs, beforeMs)
}
