import { describe, expect, test } from 'vitest'
import {
  type CallerLookup,
  type CallGroup,
  findPaths,
  type FoundPaths,
} from '../../../../src/analyzer/query/paths/find-paths.ts'
import { Random } from '../../../support/differential/random.ts'
import { SEED } from '../../../support/seed.ts'

const GRAPHS = 500

type Calls = readonly (readonly [caller: number, callee: number])[]

function lookupOf(calls: Calls): CallerLookup {
  const groups = new Map<number, CallGroup>()
  return {
    *groupsOf(method) {
      yield
      const callers = calls.flatMap(([caller, callee]) => (callee === method ? [caller] : []))
      const group = groups.get(method) ?? { callers }
      groups.set(method, group)
      return [group]
    },
    orderOf: (method) => method,
  }
}

const DEFAULTS = { limit: 1000, maxDepth: 8, maxVisited: 1000, maxCalls: 1000, maxFollowed: 1_000_000 }

function find(calls: Calls, sources: readonly number[], targets: readonly number[], given = {}): FoundPaths {
  const request = { ...DEFAULTS, ...given, sources: new Set(sources), targets: new Set(targets) }
  const work = findPaths(lookupOf(calls), request)
  for (;;) {
    const { done, value } = work.next()
    if (done === true) return value
  }
}

/** Returns all paths of at most `maxDepth` calls, by length and then by methods. */
function allPaths(
  calls: Calls,
  sources: readonly number[],
  targets: readonly number[],
  maxDepth: number,
): readonly (readonly number[])[] {
  const found: number[][] = []
  const extend = (path: readonly number[]): void => {
    if (path.length > maxDepth) return
    for (const [caller, callee] of calls) {
      if (caller !== path.at(-1)) continue
      if (targets.includes(callee)) found.push([...path, callee])
      else if (!sources.includes(callee) && !path.includes(callee)) extend([...path, callee])
    }
  }
  for (const source of sources) extend([source])
  const differing = (a: readonly number[], b: readonly number[]) => a.findIndex((each, at) => each !== b[at])
  return found.toSorted((a, b) => {
    const at = differing(a, b)
    return a.length - b.length || (a[at] ?? 0) - (b[at] ?? 0)
  })
}

describe('paths', () => {
  test('of random graphs are all paths, in order', () => {
    const random = new Random(SEED)
    let most = 0
    for (let round = 0; round < GRAPHS; round++) {
      const size = 2 + random.below(7)
      const all = Array.from({ length: size * size }, (_, at) => [Math.floor(at / size), at % size] as const)
      const density = random.next() / 2
      const calls = all.filter(() => random.chance(density))
      const some = () => [...new Set(Array.from({ length: 1 + random.below(2) }, () => random.below(size)))]
      const [sources, targets] = [some(), some()]
      const [maxDepth, limit] = [1 + random.below(8), 1 + random.below(40)]
      const expected = allPaths(calls, sources, targets, maxDepth)
      const about = JSON.stringify({ round, calls, sources, targets, maxDepth, limit })
      expect(find(calls, sources, targets, { maxDepth }).paths, about).toEqual(expected)
      const { paths, end } = find(calls, sources, targets, { maxDepth, limit })
      expect(paths, about).toEqual(expected.slice(0, limit))
      expect(end === 'limit', about).toBe(expected.length >= limit)
      most = Math.max(most, expected.length)
    }
    expect(most).toBeGreaterThan(20)
  })

  test('are complete unless a caller remains at the maximum depth', () => {
    const chain: Calls = [
      [0, 1],
      [1, 2],
      [2, 3],
    ]
    expect(find(chain, [0], [3])).toMatchObject({ paths: [[0, 1, 2, 3]], end: 'complete', visitedCount: 3 })
    expect(find(chain, [0], [3], { maxDepth: 3 })).toMatchObject({ paths: [[0, 1, 2, 3]], end: 'complete' })
    expect(find(chain, [0], [3], { maxDepth: 2 })).toMatchObject({ paths: [], end: 'depth' })
    expect(find(chain, [3], [0])).toMatchObject({ paths: [], end: 'complete', visitedCount: 1 })
  })
})

describe('a bound', () => {
  test('on visited methods ends the search with the paths found so far', () => {
    const calls: Calls = [
      [0, 9],
      [1, 9],
      [0, 1],
      [2, 1],
      [3, 2],
      [0, 3],
    ]
    expect(find(calls, [0], [9], { maxVisited: 1 })).toMatchObject({
      paths: [[0, 9]],
      end: 'visited',
      visitedCount: 1,
    })
    expect(find(calls, [0], [9], { maxVisited: 2 }).paths).toEqual([
      [0, 9],
      [0, 1, 9],
    ])
    expect(find(calls, [0], [9], { maxCalls: 2 })).toMatchObject({ paths: [[0, 9]], end: 'visited' })
    expect(find(calls, [0], [9], { maxVisited: 4 })).toMatchObject({ end: 'complete', visitedCount: 4 })
  })

  test('on followed calls ends the search with the paths found so far', () => {
    // Every method calls every other one.
    const size = 14
    const calls = Array.from({ length: size * size }, (_, at) => [Math.floor(at / size), at % size] as const)
    const bounded = find(calls, [0], [size - 1], { limit: 10_000_000, maxDepth: 14, maxFollowed: 2_000 })
    expect(bounded.end).toBe('followed')
    expect(bounded.paths.length).toBeGreaterThan(10)
    expect(bounded.paths.length).toBeLessThan(2_000)
  })
})
