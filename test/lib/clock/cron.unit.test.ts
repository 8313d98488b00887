import { fc } from '../../support/fast-check.ts'
import { expect, it, test } from 'vitest'
import { cronComplaint, lastCronMs, nextCronMs } from '../../../src/lib/clock/cron.ts'
import { occurrences } from '../../support/clock/occurrences.ts'
import { rounds } from '../../support/rounds.ts'

const MINUTE_MS = 60_000
const HOUR_MS = 60 * MINUTE_MS
const DAY_MS = 24 * HOUR_MS

/** Days on which the offset of each zone changes: by an hour, and by half an hour. */
const CHANGES = [
  ['Europe/Berlin', '2026-03-29'],
  ['Europe/Berlin', '2026-10-25'],
  ['America/New_York', '2026-03-08'],
  ['America/New_York', '2026-11-01'],
  ['Australia/Lord_Howe', '2026-04-05'],
  ['Australia/Lord_Howe', '2026-10-04'],
] as const

it.each(CHANGES)('a fixed time in %s occurs once on each day around %s', (zone, day) => {
  const fromMs = Date.parse(`${day}T00:00:00Z`) - 2 * DAY_MS
  const untilMs = fromMs + 4 * DAY_MS
  fc.assert(
    fc.property(
      fc.record({
        minute: fc.integer({ min: 0, max: 59 }),
        hour: fc.integer({ min: 0, max: 4 }),
        days: fc.constantFrom<readonly number[]>([], [0], [1, 2, 3, 4, 5], [0, 6]),
      }),
      fc.array(fc.integer({ min: 0, max: 4 * 24 * 60 - 1 }), { minLength: 5, maxLength: 5 }),
      (fixed, starts) => {
        const { minute, hour, days } = fixed
        const expression = `${minute} ${hour} * * ${days.length === 0 ? '*' : days.join(',')}`
        const times = occurrences(fixed, zone, fromMs, untilMs)
        for (const start of starts) {
          const afterMs = fromMs + start * MINUTE_MS
          const next = nextCronMs(expression, afterMs, zone) ?? Infinity
          expect(next < untilMs ? next : undefined).toBe(times.find((ms) => ms > afterMs))
          const last = lastCronMs(expression, fromMs - 1, afterMs, zone)
          expect(last).toBe(times.findLast((ms) => ms <= afterMs))
        }
      },
    ),
    { numRuns: rounds(12, 60) },
  )
})

test('the last occurrence is found in decades of minutes', () => {
  const untilMs = Date.parse('2026-06-01T12:34:56Z')
  expect(lastCronMs('* * * * *', 0, untilMs, 'UTC')).toBe(Date.parse('2026-06-01T12:34:00Z'))
  expect(lastCronMs('0 8 29 2 *', 0, untilMs, 'UTC')).toBe(Date.parse('2024-02-29T08:00:00Z'))
  expect(lastCronMs('0 8 1 6 *', untilMs - HOUR_MS, untilMs, 'UTC')).toBeUndefined()
})

test('an expression that is not valid, or never occurs, is refused', () => {
  expect(cronComplaint('0 8 * * 1-5')).toBeUndefined()
  expect(cronComplaint('0 0 30 2 *')).toBe('it never occurs')
  expect(cronComplaint('61 * * * *')).toContain('61')
})
