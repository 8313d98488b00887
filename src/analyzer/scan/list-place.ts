import type { ClassPathProblem } from '../classpath/class-container.ts'
import { displayPath } from '../classpath/class-container.ts'
import { contentHash } from '../classpath/content-hash.ts'
import { type SlicedPlace, slicesOf, stampIfThere } from '../index/slices.ts'

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

/** What the server needs to know of a place; the classes stay where they were listed. */
export interface ListedPlace {
  readonly slices: readonly { readonly key: string; readonly location: string; readonly count: number }[]
  readonly problems: readonly ClassPathProblem[]
  /** Of an archive: as long as it is the same, so is all this. */
  readonly stamp?: string
  /** A hash that has been made anew. */
  readonly hash?: StampedHash
}

/** The last places that this thread has listed: what is missing of them is read next. */
const lastListed = new Map<string, SlicedPlace>()
const KEPT = 8
/** Of all together: what has more is listed again. */
const KEPT_CLASSES = 2 ** 15

/** Lists one place of a class path, in a pool's process. */
export function listPlace(task: ListTask): ListedPlace {
  return list(task).listed
}

function list({ path, release, hash: known }: ListTask): {
  readonly place: SlicedPlace
  readonly listed: ListedPlace
} {
  let hash: StampedHash | undefined
  const place = slicesOf(path, release, (stamp) => {
    if (known?.stamp === stamp) return known.hash
    hash = { stamp, hash: contentHash(path) }
    return hash.hash
  })
  remember(path, release, place)
  const listed = {
    slices: place.slices.map(({ key, container, classes }) => ({
      key,
      location: displayPath(container),
      count: classes.length,
    })),
    problems: place.problems,
    ...(place.stamp !== undefined && { stamp: place.stamp }),
    ...(hash !== undefined && hash.stamp === place.stamp && { hash }),
  }
  return { place, listed }
}

/** The slices of a place, from memory where this thread has listed it and it has not changed since, as another may have seen. */
export function placeOf(task: ListTask, keys: readonly string[]): SlicedPlace {
  const place = lastListed.get(`${task.release} ${task.path}`)
  const there = new Set(place?.slices.map(({ key }) => key))
  const isFresh =
    place !== undefined && (place.stamp === undefined || place.stamp === stampIfThere(task.path))
  if (isFresh && keys.every((key) => there.has(key))) return place
  return list(task).place
}

function remember(path: string, release: number, place: SlicedPlace): void {
  lastListed.delete(`${release} ${path}`)
  lastListed.set(`${release} ${path}`, place)
  let classes = 0
  for (const [n, [key, { slices }]] of [...lastListed].toReversed().entries()) {
    classes += slices.reduce((sum, slice) => sum + slice.classes.length, 0)
    if (n >= KEPT || classes > KEPT_CLASSES) lastListed.delete(key)
  }
}
