import { setImmediate } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { runInTurns } from '../../../src/lib/clock/run-in-turns.ts'

function* count(steps: number, each: (step: number) => void): Generator<void, number> {
  for (let step = 0; step < steps; step++) {
    each(step)
    yield
  }
  return steps
}

test('a computation in turns lets other events run between its steps, and returns its result', async () => {
  const seen: number[] = []
  const state = { step: 0, isDone: false }
  const other = (async () => {
    while (!state.isDone) {
      seen.push(state.step)
      await setImmediate()
    }
  })()
  // A turn of no time ends after each step.
  expect(
    await runInTurns(
      count(20, (each) => (state.step = each)),
      { turnMs: -1 },
    ),
  ).toBe(20)
  state.isDone = true
  await other
  expect(new Set(seen).size).toBeGreaterThan(5)
})

test('a short computation is done in one turn', async () => {
  let others = 0
  const other = setImmediate().then(() => others++)
  expect(
    await runInTurns(
      count(1_000, () => undefined),
      { turnMs: 60_000 },
    ),
  ).toBe(1_000)
  expect(others).toBe(0)
  await other
})

test('an error of a computation is passed on, also from a later turn', async () => {
  const failing = count(5, (step) => {
    if (step === 3) throw new Error('failed')
  })
  await expect(runInTurns(failing, { turnMs: -1 })).rejects.toThrow('failed')
})

test('a computation ends when its signal aborts', async () => {
  const controller = new AbortController()
  const state = { step: 0 }
  const work = runInTurns(
    count(1_000, (each) => (state.step = each)),
    { signal: controller.signal, turnMs: -1 },
  )
  await setImmediate()
  controller.abort(new Error('the client disconnected'))
  await expect(work).rejects.toThrow('the client disconnected')
  expect(state.step).toBeLessThan(10)
})
