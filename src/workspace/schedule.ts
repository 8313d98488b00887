import type { Static } from 'typebox'
import { cronComplaint, nextCronMs } from '../lib/clock/cron.ts'
import { configFault } from '../lib/config/check.ts'
import { optionalText } from '../lib/config/fields.ts'
import { messageOf } from '../lib/errors/message.ts'
import { Type } from '../lib/schema/type.ts'
import { fault } from './errors.ts'

/** Ways in which a schedule ends the programs of a workspace. */
export const REST_KINDS = ['stop', 'suspend'] as const
/** Way in which a schedule ends the programs of a workspace. */
export type RestKind = (typeof REST_KINDS)[number]

/** Config keys of a schedule. */
export const scheduleFields = {
  start: optionalText(
    'when a workspace is started: days and a time such as Mon-Fri 08:00, a crontab(5) expression such as 0 8 * * 1-5, or never, the default',
  ),
  stop: optionalText('when it is stopped, in the same form'),
  time_zone: optionalText("IANA time zone of both, such as Europe/Berlin; default the server's"),
  rest: Type.Optional(
    Type.Enum(REST_KINDS, {
      description: 'how it is stopped: stop, the default, or suspend where that is possible',
    }),
  ),
}

/** Value of a time without a schedule, which overrides that of the server. */
const NEVER = 'never'
const MAX_LENGTH = 100
/** Names are those of crontab(5). Restricted to what other programs read as well. */
const FIVE_FIELDS = /^[\w*,/-]+(?: +[\w*,/-]+){4}$/
const DAYS_AND_TIME = /^(?:([A-Za-z,-]+) +)?(\d{1,2}):(\d{2})$/
const DAYS = ['sunday', 'monday', 'tuesday', 'wednesday', 'thursday', 'friday', 'saturday']
const EVERY_DAY = '*'

/** When a workspace is started and stopped without a request; undefined values are those of the server. */
export interface Schedule {
  /** Crontab(5) expression, or `never`. */
  readonly start?: string | undefined
  readonly stop?: string | undefined
  /** IANA time zone of both. */
  readonly timeZone?: string | undefined
  readonly rest?: RestKind | undefined
}

/** An unvalidated schedule. Undefined keeps a value, and null removes it. */
export interface ScheduleInput {
  readonly start?: string | null | undefined
  readonly stop?: string | null | undefined
  readonly timeZone?: string | null | undefined
  readonly rest?: RestKind | null | undefined
}

interface Scheduled {
  readonly schedule?: Schedule | undefined
  readonly settingsError?: string | undefined
}

/** A schedule with the values of the server; undefined times are never. */
export interface EffectiveSchedule {
  readonly start: string | undefined
  readonly stop: string | undefined
  readonly timeZone: string
  readonly rest: RestKind
}

/** A schedule in files: absent values are the server's. */
export const scheduleRecordSchema = Type.Object(
  {
    start: Type.Optional(Type.String()),
    stop: Type.Optional(Type.String()),
    timeZone: Type.Optional(Type.String()),
    rest: Type.Optional(Type.Enum(REST_KINDS)),
  },
  { additionalProperties: false },
)

/** Encodes a schedule for a file. */
export function scheduleRecord({
  start,
  stop,
  timeZone,
  rest,
}: Schedule): Static<typeof scheduleRecordSchema> {
  return {
    ...(start !== undefined && { start }),
    ...(stop !== undefined && { stop }),
    ...(timeZone !== undefined && { timeZone }),
    ...(rest !== undefined && { rest }),
  }
}

/**
 * Applies a change to a schedule. Times can also be days and a time, such as `Mon-Fri 08:00`, which become an expression.
 *
 * @throws INVALID_REQUEST for values that are not valid, or a time that never occurs
 */
export function changedSchedule(
  before: Schedule | undefined,
  change: ScheduleInput | null | undefined,
): Schedule | undefined {
  if (change === undefined) return before
  if (change === null) return undefined
  const schedule = {
    start: changed(before?.start, change.start, (text) => parseTime('schedule.start', text)),
    stop: changed(before?.stop, change.stop, (text) => parseTime('schedule.stop', text)),
    timeZone: changed(before?.timeZone, change.timeZone, parseTimeZone),
    rest: changed(before?.rest, change.rest, (kind) => kind),
  }
  return Object.values(schedule).some((value) => value !== undefined) ? schedule : undefined
}

/** Resolves the section `schedule` of the configuration. @throws CONFIG_INVALID */
export function configuredSchedule(section: Schedule): Schedule {
  try {
    return changedSchedule(undefined, section) ?? {}
  } catch (error) {
    throw configFault('CONFIG_INVALID', messageOf(error))
  }
}

/** Returns what applies to a workspace; undefined if it is neither started nor stopped, or its settings are unknown. */
export function effectiveSchedule(
  { schedule: own, settingsError }: Scheduled,
  defaults: Schedule,
): EffectiveSchedule | undefined {
  if (settingsError !== undefined) return undefined
  const [start, stop] = [timeOf(own?.start ?? defaults.start), timeOf(own?.stop ?? defaults.stop)]
  if (start === undefined && stop === undefined) return undefined
  const timeZone = own?.timeZone ?? defaults.timeZone ?? serverTimeZone()
  return { start, stop, timeZone, rest: own?.rest ?? defaults.rest ?? 'stop' }
}

/** Times at which a schedule next starts and stops a workspace; undefined for never. */
export interface NextTimes {
  readonly startMs: number | undefined
  readonly stopMs: number | undefined
}

/** Returns the times of a schedule that follow another, in milliseconds since the epoch. */
export function nextTimes(schedule: EffectiveSchedule | undefined, afterMs: number): NextTimes {
  const { start, stop, timeZone } = schedule ?? {}
  return {
    startMs: start === undefined ? undefined : nextCronMs(start, afterMs, timeZone),
    stopMs: stop === undefined ? undefined : nextCronMs(stop, afterMs, timeZone),
  }
}

let processTimeZone: string | undefined

/** Returns the IANA time zone of this process. */
export function serverTimeZone(): string {
  processTimeZone ??= new Intl.DateTimeFormat().resolvedOptions().timeZone
  return processTimeZone
}

function timeOf(time: string | undefined): string | undefined {
  return time === NEVER ? undefined : time
}

function changed<T>(before: T | undefined, change: T | null | undefined, parse: (value: T) => T) {
  if (change === undefined) return before
  return change === null ? undefined : parse(change)
}

function parseTime(field: string, text: string): string {
  const given = text.trim()
  if (given === NEVER) return NEVER
  const expression = given.length > MAX_LENGTH ? '' : (expressionOf(given) ?? given)
  const complaint = FIVE_FIELDS.test(expression) ? cronComplaint(expression) : ''
  if (complaint === undefined) return expression
  const why = complaint === '' ? '' : ` (${complaint})`
  throw fault(
    'INVALID_REQUEST',
    `${field} ${shown(text)} is not valid${why}; use days and a time such as "Mon-Fri 08:00", five fields of crontab(5) such as "0 8 * * 1-5", or "${NEVER}"`,
  )
}

/** Returns the expression for days and a time; undefined for another form. */
function expressionOf(text: string): string | undefined {
  const [, days, hour, minute] = DAYS_AND_TIME.exec(text) ?? []
  if (hour === undefined) return undefined
  const numbers = days === undefined ? EVERY_DAY : daysOf(days.toLowerCase())
  return numbers && `${Number(minute)} ${Number(hour)} * * ${numbers}`
}

function daysOf(text: string): string | undefined {
  if (text === 'daily') return EVERY_DAY
  const found = new Set<number>()
  for (const part of text.split(',')) {
    const [first = '', last = first, ...more] = part.split('-')
    const [from, to] = [dayNumber(first), dayNumber(last)]
    if (from === undefined || to === undefined || more.length > 0) return undefined
    for (let day = from; ; day = (day + 1) % DAYS.length) {
      found.add(day)
      if (day === to) break
    }
  }
  if (found.size === DAYS.length) return EVERY_DAY
  const sorted = [...found].toSorted((a, b) => a - b)
  const [first = 0, last = first] = [sorted[0], sorted.at(-1)]
  const isRange = sorted.length > 2 && last - first === sorted.length - 1
  return isRange ? `${first}-${last}` : sorted.join(',')
}

/** Returns 0 for Sunday; undefined for what is not an English name of a day, which may be shortened to three letters. */
function dayNumber(text: string): number | undefined {
  const index = DAYS.findIndex((day) => text === day || text === day.slice(0, 3))
  return index < 0 ? undefined : index
}

function parseTimeZone(text: string): string {
  try {
    // Offsets such as +01:00 know nothing of daylight saving time.
    if (/^[A-Za-z][\w+/-]*$/.test(text)) {
      void new Intl.DateTimeFormat('en', { timeZone: text })
      return text
    }
  } catch {
    // Reported below.
  }
  throw fault(
    'INVALID_REQUEST',
    `schedule.time_zone ${shown(text)} is not an IANA time zone; use one such as "Europe/Berlin" or "UTC"`,
  )
}

function shown(text: string): string {
  return JSON.stringify(text.slice(0, MAX_LENGTH))
}
