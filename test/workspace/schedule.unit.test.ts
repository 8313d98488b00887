import { fc } from '../support/fast-check.ts'
import { expect, it, test } from 'vitest'
import { nextCronMs } from '../../src/lib/clock/cron.ts'
import { changedSchedule, configuredSchedule, effectiveSchedule } from '../../src/workspace/schedule.ts'
import { occurrences } from '../support/clock/occurrences.ts'

const DAYS = ['Sun', 'Monday', 'tue', 'WED', 'Thursday', 'fri', 'Sat'] as const
const FROM_MS = Date.parse('2026-06-01T00:00:00Z')
const DAY_MS = 86_400_000

test('days and a time mean what they name', { tags: ['long'] }, () => {
  const day = fc.integer({ min: 0, max: 6 })
  const part = fc.tuple(day, fc.option(day, { nil: undefined }))
  const parts = fc.array(part, { minLength: 1, maxLength: 4 })
  fc.assert(
    fc.property(
      parts,
      fc.integer({ min: 0, max: 23 }),
      fc.integer({ min: 0, max: 59 }),
      (given, hour, minute) => {
        const text = given.map(([first, last]) =>
          last === undefined ? DAYS[first] : `${DAYS[first]}-${DAYS[last]}`,
        )
        const days = given.flatMap(([first, last = first]) =>
          Array.from({ length: ((last - first + 7) % 7) + 1 }, (_, offset) => (first + offset) % 7),
        )
        const time = `${hour}:${String(minute).padStart(2, '0')}`
        const { start = '' } = changedSchedule(undefined, { start: `${text.join(',')} ${time}` }) ?? {}
        const expected = occurrences({ minute, hour, days }, 'UTC', FROM_MS, FROM_MS + 8 * DAY_MS)
        const found: number[] = []
        for (let ms: number | undefined = FROM_MS - 1; ;) {
          ms = nextCronMs(start, ms, 'UTC')
          if (ms === undefined || ms >= FROM_MS + 8 * DAY_MS) break
          found.push(ms)
        }
        expect(found).toEqual(expected)
      },
    ),
    { numRuns: 40 },
  )
})

it.each([
  ['Mon-Fri 08:00', '0 8 * * 1-5'],
  ['daily 8:05', '5 8 * * *'],
  ['23:59', '59 23 * * *'],
  ['Sat,Sun 10:00', '0 10 * * 0,6'],
  ['  0 8 1 * mon ', '0 8 1 * mon'],
  ['never', 'never'],
])('the time %j is kept as %j', (given, kept) => {
  expect(changedSchedule(undefined, { stop: given })).toMatchObject({ stop: kept })
})

test('a schedule that is not valid stops the server with the key and the remedy', () => {
  expect(() => configuredSchedule({ start: 'soon' })).toThrow(
    /^schedule\.start "soon" is not valid; use days/,
  )
  expect(() => configuredSchedule({ timeZone: 'Mars' })).toThrow(/^schedule\.time_zone "Mars" is not an IANA/)
  expect(configuredSchedule({})).toEqual({})
})

test('a workspace without known settings has no schedule', () => {
  const defaults = { stop: '0 19 * * *', timeZone: 'UTC' }
  expect(effectiveSchedule({}, defaults)?.stop).toBe('0 19 * * *')
  expect(effectiveSchedule({ settingsError: 'damaged' }, defaults)).toBeUndefined()
  expect(effectiveSchedule({ schedule: { timeZone: 'UTC' } }, {})).toBeUndefined()
})
