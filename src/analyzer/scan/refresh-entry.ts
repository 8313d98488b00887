import { type EntryListing, listEntry, type ListTask } from './list-entry.ts'
import { isStored, type ReadReport, readSlices } from './read-slices.ts'

/**
 * Maximum number of new slices that the listing thread also reads: another thread would have to list them
 * again.
 */
const MAX_SLICES = 8

/** Task to list a class path entry and read a few new slices. */
export interface RefreshTask {
  readonly entry: ListTask
  /** Keys of the slices in the server's index; undefined if the entry is new. */
  readonly indexedKeys: readonly string[] | undefined
  /** Whether to read new slices if there are few. */
  readonly mayRead: boolean
  readonly storeDir: string
}

/** Result of a refresh task. */
export interface RefreshedEntry {
  readonly listing: EntryListing
  /** Set if new slices were read. */
  readonly report?: ReadReport
}

/**
 * Lists a class path entry in a pool process, and reads its new slices if there are few. @throws as
 * `readSlices`
 */
export async function refreshEntry({
  entry,
  indexedKeys,
  storeDir,
  mayRead,
}: RefreshTask): Promise<RefreshedEntry> {
  const listing = listEntry(entry)
  if (!mayRead) return { listing }
  const there = indexedKeys === undefined ? undefined : new Set(indexedKeys)
  const isThere = (key: string): boolean => there?.has(key) ?? isStored(storeDir, key)
  const keys = listing.slices.map(({ key }) => key).filter((key) => !isThere(key))
  if (keys.length === 0 || keys.length > MAX_SLICES) return { listing }
  return { listing, report: await readSlices({ entry, keys, storeDir }) }
}
