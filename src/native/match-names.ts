import { getAddon } from './load.ts'

const PARTS = ['whole', 'className', 'package', 'descriptor'] as const

/**
 * Part of a name that a pattern applies to: the whole name; an internal class name or its simple name; the
 * part before a class name's last slash; the class in a descriptor, like className, where other descriptors
 * never match.
 */
export type NamePart = (typeof PARTS)[number]

/** Concatenated names in UTF-8: name i is the bytes from offsets[i] to offsets[i + 1]. */
export interface NameTable {
  readonly bytes: Uint8Array
  readonly offsets: Int32Array
}

/**
 * Matches names against a pattern in which `*` matches any text; names and pattern have slashes between
 * packages. Takes time proportional to the names' length, for any pattern (threat A6).
 *
 * @param ids names to test
 * @returns a byte for each name of the table: 1 if it was tested and matches
 */
export function matchNames(
  { bytes, offsets }: NameTable,
  ids: Int32Array,
  pattern: string,
  part: NamePart,
): Uint8Array {
  const addon = getAddon('searching names')
  return addon.matchNames(bytes, offsets, ids, pattern, PARTS.indexOf(part)) as Uint8Array
}
