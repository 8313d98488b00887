const MINUTE_MS = 60_000

/** A time on certain days of the week. */
export interface Fixed {
  readonly minute: number
  readonly hour: number
  /** 0 for Sunday; empty for every day. */
  readonly days: readonly number[]
}

/**
 * Returns when a local time occurs, found minute by minute: a skipped one at the end of the gap, and only the first of two.
 */
export function occurrences(
  { minute, hour, days }: Fixed,
  zone: string,
  fromMs: number,
  untilMs: number,
): readonly number[] {
  const format = new Intl.DateTimeFormat('en-CA', {
    timeZone: zone,
    dateStyle: 'short',
    timeStyle: 'short',
    hourCycle: 'h23',
  })
  const localMinutes = (ms: number): number =>
    Date.parse(`${format.format(ms).replace(', ', 'T')}Z`) / MINUTE_MS
  const times: number[] = []
  let doneMinutes = localMinutes(fromMs - MINUTE_MS)
  for (let ms = fromMs; ms < untilMs; ms += MINUTE_MS) {
    const now = localMinutes(ms)
    let isDue = false
    for (let local = doneMinutes + 1; local <= now; local++) {
      const date = new Date(local * MINUTE_MS)
      const isDay = days.length === 0 || days.includes(date.getUTCDay())
      isDue ||= isDay && date.getUTCHours() === hour && date.getUTCMinutes() === minute
    }
    doneMinutes = Math.max(doneMinutes, now)
    if (isDue) times.push(ms)
  }
  return times
}
