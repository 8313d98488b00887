import { fc } from '../../support/fast-check.ts'
import { expect, test } from 'vitest'
import { compare, sortInTurns } from '../../../src/analyzer/query/sort-in-turns.ts'
import { runInTurns } from '../../../src/lib/clock/run-in-turns.ts'

test('the order is that of a stable sort by code units, for any number of runs', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.constantFrom(0, 1, 2_047, 2_048, 2_049, 5_000, 12_289),
      fc.array(fc.string({ maxLength: 3 }), { minLength: 1, maxLength: 50 }),
      async (count, keys) => {
        const values = Array.from({ length: count }, (_, at) => ({
          key: keys[(at * 7) % keys.length] ?? '',
          at,
        }))
        const sorted = await runInTurns(sortInTurns(values, ({ key }) => key))
        expect(sorted).toEqual(values.toSorted((a, b) => compare(a.key, b.key)))
      },
    ),
    { numRuns: 50 },
  )
})
