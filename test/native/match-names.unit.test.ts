import { fc } from '../support/fast-check.ts'
import { describe, expect, it } from 'vitest'
import { matchNames, type NamePart } from '../../src/native/match-names.ts'
import { matchTexts } from '../oracle/match-names.ts'
import { anyName, anyPattern, nameTableOf } from '../support/hostile/names.ts'
import { rounds } from '../support/rounds.ts'

const parts: readonly NamePart[] = ['whole', 'className', 'package', 'descriptor']

const idsOf = (names: readonly string[]) => Int32Array.from(names.keys())

describe('matchNames', () => {
  it('agrees with the oracle on any names and pattern', () => {
    fc.assert(
      fc.property(
        fc.array(anyName, { maxLength: 20 }),
        anyPattern,
        fc.constantFrom(...parts),
        (names, text, part) => {
          const table = nameTableOf(names)
          const ids = idsOf(names)
          expect(matchNames(table, ids, text, part)).toEqual(matchTexts(table, ids, text, part))
        },
      ),
      { numRuns: rounds(4_000, 20_000) },
    )
  })

  it('compares only the requested names', () => {
    const table = nameTableOf(['java/util/Map', 'java/util/List', 'java/io/File'])
    expect([...matchNames(table, Int32Array.of(0, 2), 'java/*', 'whole')]).toEqual([1, 0, 1])
    expect([...matchNames(table, Int32Array.of(), '*', 'whole')]).toEqual([0, 0, 0])
  })

  it('refuses ids and offsets outside the names', () => {
    const table = nameTableOf(['a', 'b'])
    for (const id of [-1, 2])
      expect(() => matchNames(table, Int32Array.of(id), '*', 'whole')).toThrow(RangeError)
    const wrong = { bytes: table.bytes, offsets: Int32Array.of(0, 5, 2) }
    for (const id of [0, 1])
      expect(() => matchNames(wrong, Int32Array.of(id), '*', 'whole')).toThrow(RangeError)
  })
})
