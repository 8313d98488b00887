import type { Snapshot } from './snapshot.ts'
import { type BytesTest, bytesWildcard } from './wildcard.ts'

const [SLASH, DOLLAR, ZERO, NINE] = [0x2f, 0x24, 0x30, 0x39]

/** A test of names by their ids in the index. Each is looked at once, however often it is asked for. */
export function nameTest({ index: { names } }: Snapshot, fits: BytesTest): (name: number) => boolean {
  const { bytes, offsets } = names.table()
  /** 0: not looked at yet; 1: it does not fit; 2: it does. */
  const known = new Uint8Array(names.count)
  return (name) => {
    if (known[name] === 0) known[name] = fits(bytes, offsets[name] ?? 0, offsets[name + 1] ?? 0) ? 2 : 1
    return known[name] === 2
  }
}

/** A test of classes by the id of their names: a pattern fits the whole name or the simple one. */
export function classNameTest(snapshot: Snapshot, pattern: string): (name: number) => boolean {
  return nameTest(snapshot, classNameFits(pattern))
}

/** The same of the internal name itself. */
export function classNameFits(pattern: string): BytesTest {
  const fits = bytesWildcard(pattern.replaceAll('.', '/'))
  // What fits the end of the name fits the simple one too.
  if (pattern.startsWith('*')) return fits
  return (bytes, start, end) => fits(bytes, start, end) || fits(bytes, simpleNameAt(bytes, start, end), end)
}

/** The same of their packages. */
export function packageTest(snapshot: Snapshot, pattern: string): (name: number) => boolean {
  const fits = bytesWildcard(pattern.replaceAll('.', '/'))
  return nameTest(snapshot, (bytes, start, end) =>
    fits(bytes, start, lastOf(SLASH, bytes, start, end) ?? start),
  )
}

/** As `simpleNameOf` for an internal name. */
function simpleNameAt(bytes: Uint8Array, start: number, end: number): number {
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
