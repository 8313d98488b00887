import { fc } from '../fast-check.ts'
import type { NameTable } from '../../../src/native/match-names.ts'

/** Returns names in the form that the native matcher reads. */
export function nameTableOf(names: readonly string[]): NameTable {
  const all = names.map((name) => Buffer.from(name))
  const offsets = [0]
  for (const { length } of all) offsets.push((offsets.at(-1) ?? 0) + length)
  return { bytes: Buffer.concat(all), offsets: Int32Array.from(offsets) }
}

/** Text of few letters, so that much of it matches. */
export const anyName = fc.string({
  unit: fc.constantFrom('a', 'b', '/', '$', '1', 'L', ';', 'ä', '['),
  maxLength: 12,
})
/** Patterns over the same few letters, so that much of the text matches. */
export const anyPattern = fc.string({
  unit: fc.constantFrom('a', 'b', '/', '$', '1', '*', 'ä'),
  maxLength: 7,
})
