import { setImmediate } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { SearchQueue } from '../../../src/analyzer/query/search-queue.ts'

const never = new AbortController().signal

/** A search without end, which counts its steps. */
function* endless(state: { steps: number }): Generator<void, never> {
  for (;;) {
    state.steps++
    yield
  }
}

/** Lets every running search take some turns. */
async function someTurns(): Promise<void> {
  for (let turn = 0; turn < 5; turn++) await setImmediate()
}

test('two searches run at once, and the next one starts when one ends', async () => {
  const queue = new SearchQueue(-1)
  const searches = Array.from({ length: 3 }, () => {
    const controller = new AbortController()
    const state = { steps: 0 }
    const ended = queue.run(endless(state), controller.signal)
    return { controller, state, ended }
  })
  await someTurns()
  expect(searches.map(({ state }) => state.steps > 0)).toEqual([true, true, false])
  const [first] = searches
  first?.controller.abort(new Error('gone'))
  await expect(first?.ended).rejects.toThrow('gone')
  const stepsAtEnd = first?.state.steps
  await someTurns()
  expect(searches[2]?.state.steps).toBeGreaterThan(0)
  expect(first?.state.steps).toBe(stepsAtEnd)
  for (const { controller } of searches) controller.abort(new Error('gone'))
  await Promise.allSettled(searches.map(({ ended }) => ended))
})

test('a search is refused with SEARCH_BUSY when 16 are waiting, until one leaves', async () => {
  const queue = new SearchQueue(-1)
  const controllers = Array.from({ length: 18 }, () => new AbortController())
  const ended = controllers.map(({ signal }) => queue.run(endless({ steps: 0 }), signal))
  const settled = Promise.allSettled(ended)
  await someTurns()
  await expect(queue.run(endless({ steps: 0 }), never)).rejects.toMatchObject({
    code: 'SEARCH_BUSY',
    kind: 'unavailable',
    retryAfterS: 2,
  })
  controllers[17]?.abort(new Error('gone'))
  await expect(ended[17]).rejects.toThrow('gone')
  for (const { abort } of controllers.map((each) => ({ abort: () => each.abort(new Error('gone')) }))) abort()
  await settled
  expect(
    await queue.run(
      (function* () {
        yield
        return 'done'
      })(),
      never,
    ),
  ).toBe('done')
})
