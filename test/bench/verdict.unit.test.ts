import { expect, test } from 'vitest'
import { verdictOf } from '../../bench/verdict.ts'
import { Random } from '../support/differential/random.ts'

const ROUNDS = 1_000

/** Verdicts about pairs of times; load affects both of a pair, and each also has noise. */
function verdictsOf(slowdown: number, noise: number, runs: number): Record<string, number> {
  const random = new Random(runs)
  const counts: Record<string, number> = { faster: 0, slower: 0, same: 0, 'too noisy': 0 }
  for (let round = 0; round < ROUNDS; round++) {
    const load = Array.from({ length: runs }, () => 10 * (1 + 4 * random.next() ** 4))
    const timesOf = (factor: number): readonly number[] =>
      load.map((ms) => ms * factor * (1 + noise * (random.next() + random.next() - 1)))
    const { is, ratio, low, high } = verdictOf(timesOf(1), timesOf(slowdown))
    expect(low).toBeLessThanOrEqual(ratio)
    expect(high).toBeGreaterThanOrEqual(ratio)
    counts[is] = (counts[is] ?? 0) + 1
  }
  return counts
}

test('the same code is rarely called faster or slower, however noisy the machine is', () => {
  for (const noise of [0.01, 0.1, 0.3]) {
    const { faster = 0, slower = 0 } = verdictsOf(1, noise, 15)
    expect(faster + slower).toBeLessThan(0.06 * ROUNDS)
  }
})

test('a difference well above the noise is found, and none is found in none', () => {
  expect(verdictsOf(1.2, 0.1, 15)['slower']).toBeGreaterThan(0.95 * ROUNDS)
  expect(verdictsOf(0.8, 0.1, 15)['faster']).toBeGreaterThan(0.95 * ROUNDS)
  expect(verdictsOf(1, 0.02, 15)['same']).toBeGreaterThan(0.95 * ROUNDS)
})

test('too few runs on a noisy machine prove nothing', () => {
  expect(verdictsOf(1, 0.5, 7)['too noisy']).toBeGreaterThan(0.6 * ROUNDS)
})

test('too few runs are refused', () => {
  expect(() => verdictOf([1, 1, 1, 1, 1], [1, 1, 1, 1, 1])).toThrow('a verdict needs at least 6 runs')
  expect(verdictOf([2, 2, 2, 2, 2, 3], [1, 1, 1, 1, 1, 1])).toEqual({
    is: 'faster',
    ratio: 2,
    low: 2,
    high: 3,
  })
})
