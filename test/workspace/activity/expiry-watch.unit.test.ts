import { fc } from '../../support/fast-check.ts'
import { expect, test } from 'vitest'
import { ExpiryWatch, JUMP_GRACE_MS, LATE_GRACE_MS } from '../../../src/workspace/activity/expiry-watch.ts'
import { rounds } from '../../support/rounds.ts'

const HOUR_MS = 3_600_000
const YEAR_MS = 365 * 24 * HOUR_MS

test('an expiry takes effect on time while nobody sets the clock', () => {
  fc.assert(
    fc.property(fc.integer({ min: 1, max: YEAR_MS }), fc.array(fc.nat(YEAR_MS)), (ttlMs, times) => {
      const watch = new ExpiryWatch(1_000 + ttlMs, 1_000, 50)
      for (const at of times.toSorted((a, b) => a - b)) {
        const expected = at >= ttlMs ? { is: 'due' } : { is: 'ahead', leftMs: ttlMs - at }
        expect(watch.check(1_000 + at, 50 + at)).toEqual(expected)
      }
    }),
  )
})

test('however the clock is set, an expiry waits for its time or for a grace period', () => {
  const step = fc.record({
    passMs: fc.nat(3 * HOUR_MS),
    setMs: fc.oneof(
      fc.constant(0),
      fc.integer({ min: -100 * YEAR_MS, max: 100 * YEAR_MS }),
      fc.integer({ min: -HOUR_MS, max: HOUR_MS }),
    ),
  })
  const ttl = fc.integer({ min: -YEAR_MS, max: YEAR_MS })
  fc.assert(
    fc.property(ttl, fc.array(step, { minLength: 1, maxLength: 60 }), (ttlMs, steps) => {
      let wallMs = 50 * YEAR_MS
      let nowMs = 0
      const atMs = wallMs + ttlMs
      const watch = new ExpiryWatch(atMs, wallMs, nowMs)
      /** Monotonic time at which as much has passed as was left when the clock was first before the expiry. */
      let dueMs = ttlMs > 0 ? ttlMs : Infinity
      /** Since when the clock has been past the expiry in every check. */
      let pastSinceMs: number | undefined
      for (const { passMs, setMs } of steps) {
        wallMs += passMs + setMs
        nowMs += passMs
        const state = watch.check(wallMs, nowMs)
        if (wallMs < atMs) {
          expect(state.is).toBe('ahead')
          pastSinceMs = undefined
          if (dueMs === Infinity) dueMs = nowMs + atMs - wallMs
          continue
        }
        pastSinceMs ??= nowMs
        const announcedMs = nowMs - pastSinceMs
        if (state.is === 'due')
          expect(nowMs >= dueMs ? Infinity : announcedMs).toBeGreaterThanOrEqual(LATE_GRACE_MS)
        else expect(announcedMs).toBeLessThan(JUMP_GRACE_MS)
      }
    }),
    { numRuns: rounds(100, 500) },
  )
})

test.each([
  ['passed while the server was down', -5 * HOUR_MS, 0, 'late', LATE_GRACE_MS],
  ['was passed by a clock set forward by ten years', YEAR_MS, 10 * YEAR_MS, 'jumped', JUMP_GRACE_MS],
] as const)('an expiry that %s is announced first', (_what, ttlMs, setMs, state, graceMs) => {
  const wallMs = 50 * YEAR_MS
  const watch = new ExpiryWatch(wallMs + ttlMs, wallMs, 0)
  const check = (nowMs: number) => watch.check(wallMs + setMs + nowMs, nowMs)
  expect(check(0)).toEqual({ is: state, leftMs: graceMs })
  expect(check(graceMs - 1)).toEqual({ is: state, leftMs: 1 })
  expect(check(graceMs)).toEqual({ is: 'due' })
})

test('a clock that is corrected withdraws what it made late', () => {
  const watch = new ExpiryWatch(10 * HOUR_MS, 100 * YEAR_MS, 0)
  expect(watch.check(100 * YEAR_MS, 0).is).toBe('late')
  expect(watch.check(2 * HOUR_MS, 60_000)).toEqual({ is: 'ahead', leftMs: 8 * HOUR_MS })
  expect(watch.check(10 * HOUR_MS, 60_000 + 8 * HOUR_MS)).toEqual({ is: 'due' })
})
