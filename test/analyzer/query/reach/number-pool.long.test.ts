import { expect, test } from 'vitest'
import { NumberPool } from '../../../../src/analyzer/query/reach/number-pool.ts'
import { Random } from '../../../support/differential/random.ts'
import { SEED } from '../../../support/seed.ts'

test('numbers of up to 53 bits have the ids of a map', () => {
  const random = new Random(SEED)
  const pool = new NumberPool()
  const ids = new Map<number, number>()
  for (let round = 0; round < 20_000; round++) {
    const value = random.below(3) * 2 ** 51 + random.below(200) * 2 ** 24 + random.below(60)
    expect(pool.find(value)).toBe(ids.get(value) ?? -1)
    const id = ids.get(value) ?? ids.size
    ids.set(value, id)
    expect(pool.idOf(value)).toBe(id)
    expect(pool.get(id)).toBe(value)
  }
  expect(pool.count).toBe(ids.size)
})
