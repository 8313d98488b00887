import { createRequire } from 'node:module'
import type { Cron } from 'croner'
import { messageOf } from '../errors/message.ts'

/** Bounds the cache: expressions come from clients. */
const MAX_CACHED = 1_000

interface Cached {
  readonly cron: Cron
  /** The last result: `nextMs` follows every time from `fromMs` until itself. */
  fromMs: number
  nextMs: number | undefined
}

const cached = new Map<string, Cached>()

/**
 * Returns the first time after another that a crontab(5) expression matches, in milliseconds since the epoch; undefined if
 * there is none. A local time that a change to daylight saving time skips is moved to the end of the gap, and a fixed
 * time that exists twice matches once.
 *
 * @param timeZone IANA time zone; undefined for that of this process
 * @throws when the expression or the time zone is not valid
 */
export function nextCronMs(expression: string, afterMs: number, timeZone?: string): number | undefined {
  const key = `${timeZone ?? ''} ${expression}`
  const known = cached.get(key)
  if (known !== undefined && known.fromMs <= afterMs && afterMs < (known.nextMs ?? Infinity))
    return known.nextMs
  const cron = known?.cron ?? open(expression, timeZone)
  const nextMs = cron.nextRun(new Date(afterMs))?.getTime()
  if (cached.size >= MAX_CACHED) cached.clear()
  cached.set(key, { cron, fromMs: afterMs, nextMs })
  return nextMs
}

/** Returns the last time in `afterMs < time <= untilMs` that an expression matches; undefined if there is none. */
export function lastCronMs(
  expression: string,
  afterMs: number,
  untilMs: number,
  timeZone?: string,
): number | undefined {
  let lastMs = nextCronMs(expression, afterMs, timeZone)
  if (lastMs === undefined || lastMs > untilMs) return undefined
  // The wanted time is before this one, or is it. Halving copes with a clock that was wrong by decades.
  let highMs = untilMs
  for (;;) {
    const followingMs = nextCronMs(expression, lastMs, timeZone)
    if (followingMs === undefined || followingMs > untilMs) return lastMs
    const middleMs = Math.floor((lastMs + highMs) / 2)
    const foundMs = nextCronMs(expression, middleMs, timeZone)
    if (foundMs === undefined || foundMs > untilMs) highMs = middleMs
    lastMs = foundMs === undefined || foundMs > untilMs ? followingMs : foundMs
  }
}

/** Returns why an expression is invalid; undefined if it is valid. */
export function cronComplaint(expression: string): string | undefined {
  try {
    return nextCronMs(expression, Date.now()) === undefined ? 'it never occurs' : undefined
  } catch (error) {
    return messageOf(error)
  }
}

/** Loads the library, which most runs of a program do not need. */
function open(expression: string, timeZone: string | undefined): Cron {
  const { Cron: Open } = createRequire(import.meta.url)('croner') as { readonly Cron: typeof Cron }
  return new Open(expression, timeZone === undefined ? {} : { timezone: timeZone })
}
