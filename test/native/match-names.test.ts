import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { matchNames, matchNamesInJs, type NamePart, type NameTable } from '../../src/native/match-names.ts'

const parts: readonly NamePart[] = ['whole', 'className', 'package', 'descriptor']

function tableOf(names: readonly string[]): NameTable {
  const all = names.map((name) => Buffer.from(name))
  const offsets = [0]
  for (const { length } of all) offsets.push((offsets.at(-1) ?? 0) + length)
  return { bytes: Buffer.concat(all), offsets: Int32Array.from(offsets) }
}

const idsOf = (names: readonly string[]) => Int32Array.from(names.keys())

/** Little text of few letters, so that much of it fits. */
const name = fc.string({ unit: fc.constantFrom('a', 'b', '/', '$', '1', 'L', ';', 'ä', '['), maxLength: 12 })
const pattern = fc.string({ unit: fc.constantFrom('a', 'b', '/', '$', '1', '*', 'ä'), maxLength: 7 })

describe('matchNames', () => {
  it('says of any names and pattern what its twin says', () => {
    fc.assert(
      fc.property(
        fc.array(name, { maxLength: 20 }),
        pattern,
        fc.constantFrom(...parts),
        (names, text, part) => {
          const table = tableOf(names)
          const ids = idsOf(names)
          expect(matchNames(table, ids, text, part)).toEqual(matchNamesInJs(table, ids, text, part))
        },
      ),
      { numRuns: 20_000 },
    )
  })

  it('looks only at the names that it is asked about', () => {
    const table = tableOf(['java/util/Map', 'java/util/List', 'java/io/File'])
    expect([...matchNames(table, Int32Array.of(0, 2), 'java/*', 'whole')]).toEqual([1, 0, 1])
    expect([...matchNames(table, Int32Array.of(), '*', 'whole')]).toEqual([0, 0, 0])
  })

  it('refuses ids and offsets that lead out of the names', () => {
    const table = tableOf(['a', 'b'])
    for (const id of [-1, 2])
      expect(() => matchNames(table, Int32Array.of(id), '*', 'whole')).toThrow(RangeError)
    const wrong = { bytes: table.bytes, offsets: Int32Array.of(0, 5, 2) }
    for (const id of [0, 1])
      expect(() => matchNames(wrong, Int32Array.of(id), '*', 'whole')).toThrow(RangeError)
  })
})
