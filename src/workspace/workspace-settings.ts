import { parseDuration } from '../lib/config/duration.ts'
import { fault } from './errors.ts'
import { parseLabels, type WorkspaceLabels } from './labels.ts'
import type { Ownership } from './ownership.ts'
import { changedSchedule, type Schedule, type ScheduleInput } from './schedule.ts'

/** Idle time in milliseconds; undefined for the server's value, 0 for never. */
export interface IdleLimits {
  readonly stopAfterMs?: number | undefined
  readonly suspendAfterMs?: number | undefined
}

/** When checkpoints are taken without a request, and how many are kept; undefined values have defaults. */
export interface CheckpointPlan {
  /** Time between checkpoints while it runs; 0 for none, which leaves those of idle stops. */
  readonly everyMs?: number | undefined
  /** Number of checkpoints kept, besides those that a client took. */
  readonly keep?: number | undefined
  /** Age at which these are deleted. */
  readonly maxAgeMs?: number | undefined
}

/** The shortest time between checkpoints: a running workspace is paused for each. */
const MIN_CHECKPOINT_EVERY_MS = 60_000
/** The largest number of checkpoints that a plan can keep. */
export const MAX_CHECKPOINTS_KEPT = 1_000

/** Actions that an expiry can trigger. */
export const EXPIRE_ACTIONS = ['stop', 'delete'] as const
/** Action that an expiry triggers. */
type ExpireAction = (typeof EXPIRE_ACTIONS)[number]

/** When a workspace expires, and what then happens to it. */
export interface Expiry {
  readonly at: Date
  readonly action: ExpireAction
}

/** Record of a workspace beside its backend: settings that can change after its creation, and its warnings. */
export interface WorkspaceSettings {
  readonly labels?: WorkspaceLabels | undefined
  /** Whether a connection to it starts it; undefined for the server's default. */
  readonly wakes?: boolean | undefined
  readonly idle?: IdleLimits | undefined
  /** Undefined for checkpoints on request only. */
  readonly checkpoints?: CheckpointPlan | undefined
  readonly expiry?: Expiry | undefined
  /** Undefined for the server's. */
  readonly schedule?: Schedule | undefined
  /** To whom it belongs; undefined for the administrators only. */
  readonly ownership?: Ownership | undefined
  /** Sentences about what its creation ignored; undefined for nothing. */
  readonly warnings?: readonly string[] | undefined
}

/** A duration in seconds, or a text such as `90m`. */
type DurationInput = number | string

/** An unvalidated change of settings. Undefined keeps a value, and null removes it. */
export interface SettingsInput {
  readonly labels?: Readonly<Record<string, string | null>> | null | undefined
  readonly wake?: boolean | null | undefined
  readonly idle?: IdleInput | null | undefined
  readonly checkpoints?: CheckpointPlanInput | null | undefined
  /** Seconds until it expires; 0 for never. */
  readonly ttlS?: number | null | undefined
  readonly expiresAt?: string | null | undefined
  readonly expireAction?: ExpireAction | null | undefined
  readonly schedule?: ScheduleInput | null | undefined
}

/** An unvalidated plan of checkpoints. */
interface CheckpointPlanInput {
  readonly every?: DurationInput | null | undefined
  readonly keep?: number | null | undefined
  readonly maxAge?: DurationInput | null | undefined
}

/** Unvalidated idle limits. */
interface IdleInput {
  readonly stopAfter?: DurationInput | null | undefined
  readonly suspendAfter?: DurationInput | null | undefined
}

/** The longest duration of a setting, in seconds: ten years. */
export const MAX_SETTING_S = 10 * 365 * 86_400
const TIME = /^\d{4}-\d\d-\d\d[Tt]\d\d:\d\d(?::\d\d(?:\.\d{1,9})?)?(?:[Zz]|[+-]\d\d:\d\d)$/

/**
 * Applies a change to settings.
 *
 * @throws INVALID_REQUEST for values that are not valid
 */
export function changedSettings(
  before: WorkspaceSettings,
  input: SettingsInput,
  now: Date,
): WorkspaceSettings {
  return {
    labels: changedLabels(before.labels, input.labels),
    wakes: input.wake === undefined ? before.wakes : (input.wake ?? undefined),
    idle: changedIdle(before.idle, input.idle),
    checkpoints: changedPlan(before.checkpoints, input.checkpoints),
    expiry: changedExpiry(before.expiry, input, now),
    schedule: changedSchedule(before.schedule, input.schedule),
    ownership: before.ownership,
    warnings: before.warnings,
  }
}

function changedLabels(
  before: WorkspaceLabels | undefined,
  change: SettingsInput['labels'],
): WorkspaceLabels | undefined {
  if (change === undefined) return before
  if (change === null) return undefined
  const labels = new Map(Object.entries(before ?? {}))
  for (const [key, value] of Object.entries(change)) {
    if (value === null) labels.delete(key)
    else labels.set(key, value)
  }
  return parseLabels(Object.fromEntries(labels))
}

function changedIdle(before: IdleLimits | undefined, change: SettingsInput['idle']): IdleLimits | undefined {
  if (change === undefined) return before
  if (change === null) return undefined
  const stopAfterMs = changedLimit('idle.stop_after', before?.stopAfterMs, change.stopAfter)
  const suspendAfterMs = changedLimit('idle.suspend_after', before?.suspendAfterMs, change.suspendAfter)
  if (stopAfterMs === undefined && suspendAfterMs === undefined) return undefined
  return { stopAfterMs, suspendAfterMs }
}

function changedPlan(
  before: CheckpointPlan | undefined,
  change: SettingsInput['checkpoints'],
): CheckpointPlan | undefined {
  if (change === undefined) return before
  if (change === null) return undefined
  const everyMs = changedLimit('checkpoints.every', before?.everyMs, change.every)
  if (everyMs !== undefined && everyMs > 0 && everyMs < MIN_CHECKPOINT_EVERY_MS)
    throw fault('INVALID_REQUEST', 'checkpoints.every must be at least 1m, or 0 for never')
  return {
    everyMs,
    keep: change.keep === undefined ? before?.keep : (change.keep ?? undefined),
    maxAgeMs: changedLimit('checkpoints.max_age', before?.maxAgeMs, change.maxAge),
  }
}

function changedLimit(
  field: string,
  before: number | undefined,
  change: DurationInput | null | undefined,
): number | undefined {
  if (change === undefined) return before
  return change === null ? undefined : durationMs(field, change)
}

function durationMs(field: string, value: DurationInput): number {
  const text = String(value)
  const ms = /^\d+$/.test(text) ? Number(text) * 1_000 : parseDuration(text)
  if (ms !== undefined && ms <= MAX_SETTING_S * 1_000) return ms
  throw fault(
    'INVALID_REQUEST',
    `${field} ${JSON.stringify(text.slice(0, 80))} must be seconds or a duration such as 90m, at most 3650d; 0 for never`,
  )
}

function changedExpiry(
  before: Expiry | undefined,
  { ttlS, expiresAt, expireAction }: SettingsInput,
  now: Date,
): Expiry | undefined {
  if (isGiven(ttlS) && isGiven(expiresAt))
    throw fault('INVALID_REQUEST', 'ttl_s and expires_at are mutually exclusive')
  const action = expireAction ?? (expireAction === null ? 'stop' : (before?.action ?? 'stop'))
  if (isGiven(expiresAt)) return { at: parseExpiresAt(expiresAt, now), action }
  if (isGiven(ttlS)) return ttlS === 0 ? undefined : { at: new Date(now.getTime() + ttlS * 1_000), action }
  if (ttlS === null || expiresAt === null) return undefined
  if (before !== undefined) return { at: before.at, action }
  if (isGiven(expireAction))
    throw fault('INVALID_REQUEST', 'expire_action needs ttl_s or expires_at: the workspace does not expire')
  return undefined
}

function parseExpiresAt(text: string, now: Date): Date {
  const shown = JSON.stringify(text.slice(0, 80))
  const at = TIME.test(text) ? new Date(text) : undefined
  if (at === undefined || Number.isNaN(at.getTime()))
    throw fault(
      'INVALID_REQUEST',
      `expires_at ${shown} must be a time with its offset, such as 2027-01-31T18:00:00Z`,
    )
  if (at <= now)
    throw fault(
      'INVALID_REQUEST',
      `expires_at ${shown} is in the past (the server's time is ${now.toISOString()})`,
    )
  if (at.getTime() - now.getTime() > MAX_SETTING_S * 1_000)
    throw fault('INVALID_REQUEST', `expires_at ${shown} must be at most ten years ahead`)
  return at
}

function isGiven<T>(value: T | null | undefined): value is T {
  return value !== undefined && value !== null
}
