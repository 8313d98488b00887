import { type ListedPlace, listPlace, type ListTask } from './list-place.ts'
import { isStored, type ReadReport, readSlices } from './read-slices.ts'

/** Slices that are read by the thread that has listed them: another one would have to list them again. */
const FEW = 8

export interface RefreshTask {
  readonly place: ListTask
  /** Keys of the slices that the server has of this place; undefined for one that it knows nothing of yet. */
  readonly held: readonly string[] | undefined
  /** Whether what is new is read at once where it is little. */
  readonly mayRead: boolean
  readonly storeDir: string
}

export interface RefreshedPlace {
  readonly listed: ListedPlace
  /** Where what is new was little, and has been read. */
  readonly report?: ReadReport
}

/** Lists one place of a class path, in a pool's process. @throws as `readSlices` */
export async function refreshPlace({ place, held, storeDir, mayRead }: RefreshTask): Promise<RefreshedPlace> {
  const listed = listPlace(place)
  if (!mayRead) return { listed }
  const there = held === undefined ? undefined : new Set(held)
  const isThere = (key: string): boolean => there?.has(key) ?? isStored(storeDir, key)
  const keys = listed.slices.map(({ key }) => key).filter((key) => !isThere(key))
  if (keys.length === 0 || keys.length > FEW) return { listed }
  return { listed, report: await readSlices({ place, keys, storeDir }) }
}
