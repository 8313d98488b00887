import { statSync } from 'node:fs'
import type { ClassPathEntry } from '../project/class-path.ts'
import type { SliceEntry } from '../index/indexed-slice.ts'
import type { EntryListing } from './list-entry.ts'

/** A class path entry with its slices. */
export interface ListedEntry extends ClassPathEntry {
  readonly listing: EntryListing
}

/** A class path entry with slices that must be read. */
export interface IncompleteEntry extends ListedEntry {
  readonly keys: readonly string[]
}

/** Returns the path of the class path entry for a slice's location, which may be a nested jar. */
export const outermostPath = (location: string): string => location.split('!/', 1)[0] ?? location

/** Returns the keys of an entry's slices. */
export const keysOf = ({ listing }: ListedEntry): readonly string[] => listing.slices.map(({ key }) => key)

/** Returns an entry's slices for the index. */
export const entriesOf = ({ source, listing }: ListedEntry): readonly SliceEntry[] =>
  listing.slices.map(({ key, location }) => ({ key, source, location }))

/** An entry with more classes is read by one thread, which lists it once. */
const MANY_CLASSES = 2 ** 15

/** Whether an entry has so many classes that one thread reads it. */
export const hasManyClasses = ({ slices }: EntryListing): boolean =>
  slices.reduce((sum, { count }) => sum + count, 0) > MANY_CLASSES

/** Minimum size of archives that may have more classes than others (archive-classes.ts). */
const HUGE_BYTES = 2 ** 24

/** Whether a class path entry is such an archive. */
export function isHuge(path: string): boolean {
  const stat = statSync(path, { throwIfNoEntry: false })
  return stat?.isFile() === true && stat.size >= HUGE_BYTES && path.endsWith('.jar')
}
