import { cronComplaint, nextCronMs } from '../../lib/clock/cron.ts'
import { parseDuration } from '../../lib/config/duration.ts'
import { type AlarmClock, LONGEST_DELAY_MS } from '../../lib/clock/clock.ts'

/** `@every 90s`: at multiples of an interval since the epoch. */
const EVERY = /^@every\s+(\S+)$/

/** Returns the next time of a schedule in milliseconds since the epoch; undefined if there is none. */
export function nextRunMs(schedule: string, afterMs: number): number | undefined {
  const intervalMs = intervalOf(schedule)
  if (intervalMs !== undefined) return Math.floor(afterMs / intervalMs + 1) * intervalMs
  return nextCronMs(schedule, afterMs)
}

/** Returns why a schedule is invalid; undefined if it is valid. */
export function scheduleComplaint(schedule: string): string | undefined {
  if (EVERY.test(schedule))
    return (intervalOf(schedule) ?? 0) > 0 ? undefined : '"@every" must be followed by a duration such as 90s'
  return cronComplaint(schedule)
}

function intervalOf(schedule: string): number | undefined {
  const [, duration] = EVERY.exec(schedule) ?? []
  return duration === undefined ? undefined : parseDuration(duration)
}

/** Calls `onTime` at the times of a schedule. Returns a function that stops. */
export function followSchedule(schedule: string, clock: AlarmClock, onTime: () => void): () => void {
  let cancel: (() => void) | undefined
  const wait = (): void => {
    const nowMs = clock.wallMs()
    const atMs = nextRunMs(schedule, nowMs)
    if (atMs === undefined) return
    const delayMs = atMs - nowMs
    cancel = clock.after(Math.min(delayMs, LONGEST_DELAY_MS), () => {
      // The clock was set back, or the wait exceeds a single timer.
      if (clock.wallMs() >= atMs) onTime()
      wait()
    })
  }
  wait()
  return () => cancel?.()
}
