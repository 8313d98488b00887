import { expect, test } from 'vitest'
import { scheduleWords } from '../../../../../../src/workspace/faces/web/page/parts/schedule-words.ts'
import { changedSchedule } from '../../../../../../src/workspace/schedule.ts'

test.each([
  ['0 8 * * 1-5', 'Mon-Fri 08:00'],
  ['5 18 * * *', 'daily 18:05'],
  ['30 7 * * 0,6', 'Sun,Sat 07:30'],
  ['0 9 * * 7', 'Sun 09:00'],
  ['0 9 * * 1-3,5', 'Mon-Wed,Fri 09:00'],
  ['never', 'never'],
  ['*/5 8 * * *', '*/5 8 * * *'],
  ['0 8 1 * *', '0 8 1 * *'],
  ['0 8 * * mon', '0 8 * * mon'],
  ['0 8 * * 1-5/2', '0 8 * * 1-5/2'],
])('%s is shown as %s', (time, words) => expect(scheduleWords(time)).toBe(words))

test('the server understands the words of every set of days', () => {
  for (let days = 1; days < 2 ** 7; days++) {
    const list = Array.from({ length: 7 }, (_, day) => day).filter((day) => (days >> day) & 1)
    const names = list.map((day) => ['Sun', 'Mon', 'Tue', 'Wed', 'Thu', 'Fri', 'Sat'][day]).join(',')
    const start = changedSchedule(undefined, { start: `${names} 8:05` })?.start ?? ''
    expect(start).not.toBe('')
    expect(changedSchedule(undefined, { start: scheduleWords(start) })?.start).toBe(start)
  }
})
