import type { ClassPathEntry } from '../project/class-path.ts'
import type { SliceEntry } from '../index/indexed-slice.ts'
import type { EntryListing } from './list-entry.ts'

/** A place of the class path with what is there. */
export interface ListedEntry extends ClassPathEntry {
  readonly listing: EntryListing
}

/** A place of which slices are to be read. */
export interface IncompleteEntry extends ListedEntry {
  readonly keys: readonly string[]
}

/** The place of the class path of a slice's location, which may be a jar inside it. */
export const outermostPath = (location: string): string => location.split('!/', 1)[0] ?? location

export const keysOf = ({ listing }: ListedEntry): readonly string[] => listing.slices.map(({ key }) => key)

export const entriesOf = ({ source, listing }: ListedEntry): readonly SliceEntry[] =>
  listing.slices.map(({ key, location }) => ({ key, source, location }))
