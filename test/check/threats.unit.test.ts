import { expect, test } from 'vitest'
import { OTHER_PROOFS, readPromises } from '../../scripts/proofs/promises.ts'
import { listTests } from '../../scripts/proofs/test-runs.ts'

/** Returns the ids of promises in SPECIFICATION.md that tests prove. */
function promisedIds(): readonly string[] {
  return readPromises().flatMap(({ id }) => (OTHER_PROOFS.has(id) ? [] : [id]))
}

test('every threat and every fault of SPECIFICATION.md has a test whose name begins with its id', () => {
  const tested = new Set(listTests().flatMap(({ ids }) => ids))
  expect(promisedIds().filter((id) => !tested.has(id))).toEqual([])
})

/** Number of promises of each kind, to catch an id that is dropped from the page. */
test('SPECIFICATION.md names every threat and every fault once', () => {
  const counts: Record<string, number> = {}
  for (const id of promisedIds()) counts[id.slice(0, 1)] = (counts[id.slice(0, 1)] ?? 0) + 1
  expect(new Set(promisedIds()).size).toBe(promisedIds().length)
  expect(counts).toEqual({ H: 12, W: 13, N: 4, S: 7, B: 6, C: 5, P: 10, V: 9, O: 9, A: 10, F: 38 })
})
