import { fc } from '../../support/fast-check.ts'
import { expect, test } from 'vitest'
import { NameList } from '../../../src/analyzer/index/name-list.ts'
import type { NamePart } from '../../../src/native/match-names.ts'
import { matchTexts } from '../../oracle/match-names.ts'
import { anyName, anyPattern, nameTableOf } from '../../support/hostile/names.ts'
import { rounds } from '../../support/rounds.ts'

const parts: readonly NamePart[] = ['whole', 'className', 'package', 'descriptor']

test('list finds among any names those that a look at each of them finds', () => {
  fc.assert(
    fc.property(
      fc.array(anyName, { maxLength: 20 }),
      fc.array(anyPattern, { maxLength: 5 }),
      (names, patterns) => {
        const table = nameTableOf(names)
        const ids = Int32Array.from([...names.keys()].filter((id) => id % 3 !== 0))
        const list = new NameList({ table: () => table }, ids)
        for (const pattern of patterns)
          for (const part of parts)
            expect([...list.match(pattern, part)]).toEqual([...matchTexts(table, ids, pattern, part)])
      },
    ),
    { numRuns: rounds(1_000, 5_000) },
  )
})
