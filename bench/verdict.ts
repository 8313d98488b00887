import { median } from './harness.ts'

/** How one commit compares with another in one case. Ratios are before ÷ after: above 1 the later commit is faster. */
export interface Verdict {
  readonly is: 'faster' | 'slower' | 'same' | 'too noisy'
  readonly ratio: number
  /** Bounds of the ratio's confidence interval, at least 95 %. */
  readonly low: number
  readonly high: number
}

/** Fewer pairs have no interval of 95 %. */
export const MIN_PAIRS = 6
/** A smaller difference is none. */
const MARGIN = 1.05
const ERROR = 0.05

/**
 * Compares times that were measured by turns, the first with the first and so on: load on the machine affects
 * both of a pair. The interval is that of the sign test for the median of the pairs' ratios, which assumes
 * nothing about their distribution.
 *
 * @throws RangeError for fewer than 6 pairs
 */
export function verdictOf(before: readonly number[], after: readonly number[]): Verdict {
  if (before.length < MIN_PAIRS) throw new RangeError(`a verdict needs at least ${MIN_PAIRS} runs`)
  const ratios = before.map((ms, i) => ms / (after[i] ?? Number.NaN)).toSorted((a, b) => a - b)
  const outside = rankOf(ratios.length)
  const [low = Number.NaN, high = Number.NaN] = [ratios[outside], ratios[ratios.length - 1 - outside]]
  return { is: nameOf(low, high), ratio: median(ratios), low, high }
}

/** Returns how many values at each end are outside the interval. */
function rankOf(count: number): number {
  let probability = 0.5 ** count
  let below = probability
  let rank = 0
  while (2 * below <= ERROR) {
    rank++
    probability *= (count - rank + 1) / rank
    below += probability
  }
  return rank - 1
}

function nameOf(low: number, high: number): Verdict['is'] {
  if (low > 1 && high > MARGIN) return 'faster'
  if (high < 1 && low < 1 / MARGIN) return 'slower'
  return low >= 1 / MARGIN && high <= MARGIN ? 'same' : 'too noisy'
}
