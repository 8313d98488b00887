import { fc } from '../../support/fast-check.ts'
import { expect, test } from 'vitest'
import { Pace } from '../../../src/lib/clock/pace.ts'

test('waiting as requested limits work to the rate plus one burst', () => {
  const step = fc.record({ units: fc.integer({ min: 0, max: 300 }), idleMs: fc.integer({ min: 0, max: 50 }) })
  fc.assert(
    fc.property(fc.array(step, { maxLength: 200 }), (steps) => {
      let nowMs = 1_000
      const pace = new Pace({ perMs: 10, burst: 500 }, () => nowMs)
      let done = 0
      for (const { units, idleMs } of steps) {
        nowMs += idleMs
        done += units
        nowMs += pace.spend(units)
        expect(done).toBeLessThanOrEqual(500 + (nowMs - 1_000) * 10 + 300)
      }
    }),
  )
})

test('work below the rate never waits', () => {
  let nowMs = 0
  const pace = new Pace({ perMs: 10, burst: 100 }, () => nowMs)
  for (let i = 0; i < 1_000; i++) {
    nowMs += 1
    expect(pace.spend(9)).toBe(0)
  }
})
