import { type EntryListing, listEntry, type ListTask } from './list-entry.ts'
import { isStored, type ReadReport, readSlices } from './read-slices.ts'

/** Slices that are read by the thread that has listed them: another one would have to list them again. */
const FEW = 8

export interface RefreshTask {
  readonly entry: ListTask
  /** Keys of the slices that the server has of this place; undefined for one that it knows nothing of yet. */
  readonly indexedKeys: readonly string[] | undefined
  /** Whether what is new is read at once where it is little. */
  readonly mayRead: boolean
  readonly storeDir: string
}

export interface RefreshedEntry {
  readonly listing: EntryListing
  /** Where what is new was little, and has been read. */
  readonly report?: ReadReport
}

/** Lists one place of a class path, in a pool's process. @throws as `readSlices` */
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
  if (keys.length === 0 || keys.length > FEW) return { listing }
  return { listing, report: await readSlices({ entry, keys, storeDir }) }
}
