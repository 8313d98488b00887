import { Cron } from 'croner'
import { type AlarmClock, LONGEST_DELAY_MS } from '../../lib/clock/clock.ts'

/** The next time of a schedule after a moment, in milliseconds since the epoch; undefined when there is none. */
export function nextRunMs(schedule: string, afterMs: number): number | undefined {
  return new Cron(schedule).nextRun(new Date(afterMs))?.getTime()
}

/** Why a text is no schedule; undefined when it is one. */
export function scheduleComplaint(schedule: string): string | undefined {
  try {
    return new Cron(schedule).nextRun() === null ? 'never comes' : undefined
  } catch (error) {
    return error instanceof Error ? error.message : String(error)
  }
}

/** Calls back whenever a schedule says so. Returns how to end that. */
export function followSchedule(schedule: string, clock: AlarmClock, onTime: () => void): () => void {
  let cancel: (() => void) | undefined
  const wait = (): void => {
    const nowMs = clock.wallMs()
    const atMs = nextRunMs(schedule, nowMs)
    if (atMs === undefined) return
    const delayMs = atMs - nowMs
    cancel = clock.after(Math.min(delayMs, LONGEST_DELAY_MS), () => {
      // A clock that was set back, or a wait too long for one timer.
      if (clock.wallMs() >= atMs) onTime()
      wait()
    })
  }
  wait()
  return () => cancel?.()
}
