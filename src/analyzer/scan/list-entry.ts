import type { ClassPathProblem } from '../classpath/class-container.ts'
import { displayPath } from '../classpath/class-container.ts'
import { contentHash } from '../classpath/content-hash.ts'
import { type SlicedEntry, slicesOf, stampIfThere } from '../index/slices.ts'

export interface ListTask {
  readonly path: string
  readonly release: number
  /** Of an archive, where it is known. */
  readonly hash: StampedHash | undefined
}

/** The hash of an archive's bytes, and what tells it from one that was there before or is there later. */
export interface StampedHash {
  readonly stamp: string
  readonly hash: string
}

/** What the server needs to know of a place; the classes stay where they were listing. */
export interface EntryListing {
  readonly slices: readonly { readonly key: string; readonly location: string; readonly count: number }[]
  readonly problems: readonly ClassPathProblem[]
  /** Of an archive: as long as it is the same, so is all this. */
  readonly stamp?: string
  /** A hash that has been made anew. */
  readonly hash?: StampedHash
}

/** The last places that this thread has listing: what is missing of them is read next. */
const lastListed = new Map<string, SlicedEntry>()
const MAX_ENTRIES = 8
/** Of all together: what has more is listing again. */
const MAX_CLASSES = 2 ** 15

/** Lists one place of a class path, in a pool's process. */
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

/** The slices of a place, from memory where this thread has listing it and it has not changed since, as another may have seen. */
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
