import { expect, test } from 'vitest'
import { Pace } from '../../../src/workspace/egress/pace.ts'
import { FakeClock } from '../../support/fake-clock.ts'

test('a burst is not delayed, and what exceeds it continues at a fixed rate', async () => {
  const clock = new FakeClock()
  const pace = new Pace(clock)
  for (let i = 0; i < 1_000; i++) expect(pace.next()).toBeUndefined()
  let begun = 0
  for (let i = 0; i < 600; i++) void pace.next()?.then(() => begun++)
  await clock.pass(1_000)
  expect(begun).toBe(300)
  await clock.pass(1_000)
  expect(begun).toBe(600)
})

test('a pause restores the burst, and no more', async () => {
  const clock = new FakeClock()
  const pace = new Pace(clock)
  await clock.pass(3_600_000)
  for (let i = 0; i < 1_000; i++) expect(pace.next()).toBeUndefined()
  expect(pace.next()).toBeInstanceOf(Promise)
})
