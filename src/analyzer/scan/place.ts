import type { ClassPathEntry } from '../project/class-path.ts'
import type { SliceEntry } from '../index/indexed-slice.ts'
import type { ListedPlace } from './list-place.ts'

/** A place of the class path with what is there. */
export interface Place extends ClassPathEntry {
  readonly listed: ListedPlace
}

/** A place of which slices are to be read. */
export interface Missing extends Place {
  readonly keys: readonly string[]
}

/** The place of the class path of a slice's location, which may be a jar inside it. */
export const placeIn = (location: string): string => location.split('!/', 1)[0] ?? location

export const keysOf = ({ listed }: Place): readonly string[] => listed.slices.map(({ key }) => key)

export const entriesOf = ({ source, listed }: Place): readonly SliceEntry[] =>
  listed.slices.map(({ key, location }) => ({ key, source, location }))
