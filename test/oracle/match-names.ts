import { wildcard } from '../../src/analyzer/query/wildcard.ts'
import type { NamePart, NameTable } from '../../src/native/match-names.ts'

/** Matches names as `matchNames` does, one text at a time, to compare with it. */
export function matchTexts(
  { bytes, offsets }: NameTable,
  ids: Int32Array,
  pattern: string,
  part: NamePart,
): Uint8Array {
  // One character per byte, because a descriptor may be cut inside a character.
  const names = Buffer.from(bytes)
  const fits = testOf(Buffer.from(pattern).toString('latin1'), part)
  const result = new Uint8Array(offsets.length - 1)
  for (const id of ids) result[id] = Number(fits(names.toString('latin1', offsets[id], offsets[id + 1])))
  return result
}

function testOf(pattern: string, part: NamePart): (name: string) => boolean {
  const fits = wildcard(pattern)
  const fitsClass = (name: string): boolean => fits(name) || fits(simpleName(name))
  const tests: Readonly<Record<NamePart, (name: string) => boolean>> = {
    whole: fits,
    package: (name) => fits(name.slice(0, Math.max(0, name.lastIndexOf('/')))),
    className: fitsClass,
    descriptor: (name) => name.length >= 2 && name.startsWith('L') && fitsClass(name.slice(1, -1)),
  }
  return tests[part]
}

/** Returns the part after the last "$" and a local class's digits, else after the last "/". */
function simpleName(name: string): string {
  const afterSlash = name.slice(name.lastIndexOf('/') + 1)
  const inner = /\$\d*([^$]*)$/.exec(afterSlash)?.[1] ?? ''
  return inner === '' ? afterSlash : inner
}
