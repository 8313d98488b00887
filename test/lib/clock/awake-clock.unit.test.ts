import { expect, test } from 'vitest'
import { AwakeClock } from '../../../src/lib/clock/awake-clock.ts'

test('time that is not noticed does not count, and the clock never goes back', () => {
  let realMs = 1_000
  const clock = new AwakeClock(50, { nowMs: () => realMs })
  const pass = (ms: number): number => {
    realMs += ms
    return clock.nowMs()
  }
  expect(clock.nowMs()).toBe(1_000)
  expect(pass(50)).toBe(1_050)
  expect(pass(10_000)).toBe(1_050)
  clock.tick()
  expect(clock.nowMs()).toBe(1_050)
  expect(pass(20)).toBe(1_070)
  clock.tick()
  expect(pass(30)).toBe(1_100)
  clock.tick()
  expect(pass(51)).toBe(1_150)
})
