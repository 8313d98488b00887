import { getAddon } from './load.ts'

const PARTS = ['whole', 'className', 'package', 'descriptor'] as const

/**
 * Which part of a name a pattern is held against: all of it; an internal class name or its simple name; what stands before a
 * class name's last slash; the class of a descriptor, as className, where other descriptors fit nothing.
 */
export type NamePart = (typeof PARTS)[number]

/** Names in UTF-8, one after the other: name i takes the bytes from offsets[i] to offsets[i + 1]. */
export interface NameTable {
  readonly bytes: Uint8Array
  readonly offsets: Int32Array
}

/**
 * Holds names against a pattern in which `*` stands for any text; names and pattern have slashes between packages. Takes time in
 * proportion to the names' length, whatever the pattern (threat A6).
 *
 * @param ids of the names that are looked at
 * @returns a byte for each name of the table: 1 where it was looked at and fits
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
