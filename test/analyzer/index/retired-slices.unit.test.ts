import { expect, test } from 'vitest'
import { RetiredSlices } from '../../../src/analyzer/index/retired-slices.ts'

const KEPT = 64

test('the latest retired slices are kept, older ones are dropped in batches', () => {
  const retired = new RetiredSlices()
  const dropped = Array.from({ length: 3 * KEPT + 1 }, (_, scan) => retired.next(['same', `of-${scan}`]))
  expect(dropped.filter(({ length }) => length > 0).map(({ length }) => length)).toEqual([KEPT, KEPT])
  expect(dropped.flat()).toEqual(Array.from({ length: 2 * KEPT }, (_, scan) => `of-${scan}`))
})

test('a slice that returns is not dropped', () => {
  const retired = new RetiredSlices()
  const dropped = Array.from({ length: 4 * KEPT }, (_, scan) =>
    retired.next([`of-${scan}`, ...(scan % 2 === 0 ? ['now and then'] : [])]),
  ).flat()
  expect(dropped.length).toBeGreaterThan(KEPT)
  expect(dropped).not.toContain('now and then')
})
