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
