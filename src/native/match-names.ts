import { warnOfFallback } from './fallback-warning.ts'
import { loadAddon } from './load.ts'
import { type BytesTest, bytesWildcard } from './wildcard.ts'

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
export function matchNames(table: NameTable, ids: Int32Array, pattern: string, part: NamePart): Uint8Array {
  const loaded = loadAddon()
  if (loaded.is === 'loaded') {
    const { bytes, offsets } = table
    return loaded.addon.matchNames(bytes, offsets, ids, pattern, PARTS.indexOf(part)) as Uint8Array
  }
  warnOfFallback('searching names', loaded.reason)
  return matchNamesInJs(table, ids, pattern, part)
}

/** The twin of the addon's. */
export function matchNamesInJs(
  { bytes, offsets }: NameTable,
  ids: Int32Array,
  pattern: string,
  part: NamePart,
): Uint8Array {
  const fits = testOf(pattern, part)
  const result = new Uint8Array(offsets.length - 1)
  for (const id of ids) result[id] = Number(fits(bytes, offsets[id] ?? 0, offsets[id + 1] ?? 0))
  return result
}

const [SLASH, DOLLAR, ZERO, NINE, CLASS] = [0x2f, 0x24, 0x30, 0x39, 0x4c]

function testOf(pattern: string, part: NamePart): BytesTest {
  const fits = bytesWildcard(pattern)
  if (part === 'whole') return fits
  if (part === 'package')
    return (bytes, start, end) => fits(bytes, start, lastOf(SLASH, bytes, start, end) ?? start)
  const fitsClass: BytesTest = pattern.startsWith('*')
    ? // What fits the end of the name fits the simple one too.
      fits
    : (bytes, start, end) => fits(bytes, start, end) || fits(bytes, simpleNameAt(bytes, start, end), end)
  if (part === 'className') return fitsClass
  return (bytes, start, end) =>
    end - start >= 2 && bytes[start] === CLASS && fitsClass(bytes, start + 1, end - 1)
}

/** Where the simple name begins in an internal name: after the last "$" and a local class's digits. */
export function simpleNameAt(bytes: Uint8Array, start: number, end: number): number {
  const slash = lastOf(SLASH, bytes, start, end)
  const name = slash === undefined ? start : slash + 1
  let at = (lastOf(DOLLAR, bytes, name, end) ?? end) + 1
  while (at < end && (bytes[at] ?? 0) >= ZERO && (bytes[at] ?? 0) <= NINE) at++
  return at < end ? at : name
}

function lastOf(byte: number, bytes: Uint8Array, start: number, end: number): number | undefined {
  for (let at = end - 1; at >= start; at--) if (bytes[at] === byte) return at
  return undefined
}
