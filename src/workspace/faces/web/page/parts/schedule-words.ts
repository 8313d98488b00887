import { texts } from '../texts.ts'

const DAILY = '*'

/** Returns a time of a schedule as the server also accepts it, such as `Mon-Fri 08:00`; more complicated ones as they are. */
export function scheduleWords(time: string): string {
  const [, minute = '', hour = '', days = ''] = /^(\d{1,2}) (\d{1,2}) \* \* ([\d*,-]+)$/.exec(time) ?? []
  const names = days === DAILY ? texts.days.daily : namesOf(days)
  return names === undefined ? time : `${names} ${hour.padStart(2, '0')}:${minute.padStart(2, '0')}`
}

/** Returns the names of days such as `1-3,5`; undefined for other fields. */
function namesOf(days: string): string | undefined {
  const parts = days.split(',').map((part) => {
    const range = part.split('-').map((day) => texts.days.short[Number(day)])
    return /^[0-7](-[0-7])?$/.test(part) ? range.join('-') : undefined
  })
  return parts.includes(undefined) ? undefined : parts.join(',')
}
