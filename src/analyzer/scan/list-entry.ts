import type { ClassPathProblem } from '../classpath/class-container.ts'
import { displayPath } from '../classpath/class-container.ts'
import { contentHash } from '../classpath/content-hash.ts'
import { type SlicedEntry, slicesOf, stampIfThere } from '../index/slices.ts'

/** Task to list a class path entry. */
export interface ListTask {
  readonly path: string
  readonly release: number
  /** Hash of an archive, if known. */
  readonly hash: StampedHash | undefined
}

/** Hash of an archive's bytes, and its stamp, which changes with the file. */
export interface StampedHash {
  readonly stamp: string
  readonly hash: string
}

/** Slices of a class path entry, without their classes, which stay in the process that listed them. */
export interface EntryListing {
  readonly slices: readonly { readonly key: string; readonly location: string; readonly count: number }[]
  readonly problems: readonly ClassPathProblem[]
  /** Stamp of an archive: while it is the same, the listing is valid. */
  readonly stamp?: string
  /** Newly computed hash. */
  readonly hash?: StampedHash
}

/** Entries that this thread listed last: their missing slices are usually read next. */
const lastListed = new Map<string, SlicedEntry>()
const MAX_ENTRIES = 8
/** Maximum number of classes of all cached entries; larger entries are listed again. */
const MAX_CLASSES = 2 ** 15

/** Lists a class path entry in a pool process. */
export function listEntry(task: ListTask): EntryListing {
  return list(task).listing
}

function list({ path, release, hash: known }: ListTask): {
  readonly sliced: SlicedEntry
  readonly listing: EntryListing
} {
  let hash: StampedHash | undefined
  const sliced = slicesOf(path, release, (stamp) => {
    if (known?.stamp === stamp) return known.hash
    hash = { stamp, hash: contentHash(path) }
    return hash.hash
  })
  remember(path, release, sliced)
  const listing = {
    slices: sliced.slices.map(({ key, container, classes }) => ({
      key,
      location: displayPath(container),
      count: classes.length,
    })),
    problems: sliced.problems,
    ...(sliced.stamp !== undefined && { stamp: sliced.stamp }),
    ...(hash !== undefined && hash.stamp === sliced.stamp && { hash }),
  }
  return { sliced, listing }
}

/** Returns the slices of an entry, from memory if this thread has listed it and it has not changed since. */
export function slicedEntryOf(task: ListTask, keys: readonly string[]): SlicedEntry {
  const sliced = lastListed.get(`${task.release} ${task.path}`)
  const there = new Set(sliced?.slices.map(({ key }) => key))
  const isFresh =
    sliced !== undefined && (sliced.stamp === undefined || sliced.stamp === stampIfThere(task.path))
  if (isFresh && keys.every((key) => there.has(key))) return sliced
  return list(task).sliced
}

function remember(path: string, release: number, sliced: SlicedEntry): void {
  lastListed.delete(`${release} ${path}`)
  lastListed.set(`${release} ${path}`, sliced)
  let classes = 0
  for (const [n, [key, { slices }]] of [...lastListed].toReversed().entries()) {
    classes += slices.reduce((sum, slice) => sum + slice.classes.length, 0)
    if (n >= MAX_ENTRIES || classes > MAX_CLASSES) lastListed.delete(key)
  }
}
