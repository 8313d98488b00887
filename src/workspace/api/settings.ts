import type { Static, TSchema } from 'typebox'
import { Type } from '../../lib/schema/type.ts'
import { labelsSchema } from '../labels.ts'
import { REST_KINDS, type Schedule } from '../schedule.ts'
import {
  type CheckpointPlan,
  EXPIRE_ACTIONS,
  type IdleLimits,
  MAX_CHECKPOINTS_KEPT,
  MAX_SETTING_S,
  type SettingsInput,
} from '../workspace-settings.ts'
import type { Workspace } from '../workspace.ts'
import { STRICT } from './parameters.ts'

/** An optional field that may also be null. */
export const orNull = <T extends TSchema>(schema: T) => Type.Optional(Type.Union([schema, Type.Null()]))

/** An optional duration whose default the server decides. */
const durationSchema = (description: string, fallback = 'default from the configuration') =>
  Type.Optional(
    Type.Union([Type.String(), Type.Integer(), Type.Null()], {
      description: `${description}: seconds, or a duration such as 90m; 0 for never; ${fallback}`,
    }),
  )

const timeSchema = (description: string) =>
  orNull(
    Type.String({
      description: `${description}: days and a time such as "Mon-Fri 08:00", a crontab(5) expression such as "0 8 * * 1-5", or "never"; default from the configuration`,
    }),
  )

/** Settings in requests that create or change a workspace, except labels. */
export const settingsFields = {
  wake: orNull(Type.Boolean({ description: 'whether connections start it; default from the configuration' })),
  idle: orNull(
    Type.Object(
      {
        stop_after: durationSchema('idle time after which it is stopped'),
        suspend_after: durationSchema('idle time after which it is suspended, where that is possible'),
      },
      { ...STRICT, description: 'what happens when nobody uses it' },
    ),
  ),
  checkpoints: orNull(
    Type.Object(
      {
        every: durationSchema('time between checkpoints while it runs', 'at least 1m; default: never'),
        keep: orNull(
          Type.Integer({ minimum: 1, maximum: MAX_CHECKPOINTS_KEPT, description: 'number kept; default 10' }),
        ),
        max_age: durationSchema('age at which they are deleted', 'default 7d'),
      },
      {
        ...STRICT,
        description: 'checkpoints without a request: regularly, and when it is stopped because it is idle',
      },
    ),
  ),
  ttl_s: orNull(
    Type.Integer({
      minimum: 0,
      maximum: MAX_SETTING_S,
      description: 'seconds from now until it expires; 0 for never; excludes expires_at',
    }),
  ),
  expires_at: orNull(
    Type.String({ description: 'when it expires, such as 2027-01-31T18:00:00Z; excludes ttl_s' }),
  ),
  expire_action: orNull(
    Type.Enum(EXPIRE_ACTIONS, {
      description: 'what happens when it expires: stop (default), or delete with all its files',
    }),
  ),
  schedule: orNull(
    Type.Object(
      {
        start: timeSchema('when it is started'),
        stop: timeSchema('when it is stopped'),
        time_zone: orNull(
          Type.String({
            description: 'IANA time zone of both, such as Europe/Berlin; default from the configuration',
          }),
        ),
        rest: orNull(
          Type.Enum(REST_KINDS, {
            description:
              'how it is stopped: stop, or suspend where that is possible; default from the configuration',
          }),
        ),
      },
      { ...STRICT, description: 'when it is started and stopped without a request' },
    ),
  ),
} as const

/** Request body for changing settings, a JSON merge patch (RFC 7396). */
export const settingsBodySchema = Type.Object(
  {
    labels: orNull(
      Type.Unsafe<Record<string, string | null>>({
        ...labelsSchema,
        additionalProperties: Type.Union([Type.String(), Type.Null()]),
        description: 'labels to set; null removes one',
      }),
    ),
    ...settingsFields,
  },
  STRICT,
)

type WireSettings = Static<typeof settingsBodySchema>

/** Decodes the settings of a request. */
export function settingsFromWire({
  labels,
  wake,
  idle,
  checkpoints,
  schedule,
  ...expiry
}: WireSettings): SettingsInput {
  const { ttl_s: ttlS, expires_at: expiresAt, expire_action: expireAction } = expiry
  return {
    labels,
    wake,
    idle: idle && { stopAfter: idle.stop_after, suspendAfter: idle.suspend_after },
    checkpoints: checkpoints && {
      every: checkpoints.every,
      keep: checkpoints.keep,
      maxAge: checkpoints.max_age,
    },
    ttlS,
    expiresAt,
    expireAction,
    schedule: schedule && {
      start: schedule.start,
      stop: schedule.stop,
      timeZone: schedule.time_zone,
      rest: schedule.rest,
    },
  }
}

const seconds = (description: string) => Type.Optional(Type.Integer({ description }))

/** Idle limits in responses. */
export const wireIdleSchema = Type.Object(
  {
    stop_after: seconds('seconds; 0 for never'),
    suspend_after: seconds('seconds; 0 for never'),
  },
  { description: "its own idle limits; absent for the server's" },
)

/** Plan of checkpoints in responses. */
export const wirePlanSchema = Type.Object(
  {
    every: seconds('seconds; 0 or absent for never'),
    keep: Type.Optional(Type.Integer()),
    max_age: seconds('seconds; 0 for never'),
  },
  { description: 'checkpoints without a request; absent for none' },
)

/** Schedule in responses. */
export const wireScheduleSchema = Type.Object(
  {
    start: Type.Optional(Type.String({ description: 'crontab(5) expression, or never' })),
    stop: Type.Optional(Type.String({ description: 'crontab(5) expression, or never' })),
    time_zone: Type.Optional(Type.String({ description: 'IANA time zone of both' })),
    rest: Type.Optional(Type.Enum(REST_KINDS)),
  },
  { description: "its own schedule; absent values are the server's" },
)

/** Settings in responses; values that the server decides are absent. */
export const wireSettingsFields = {
  labels: Type.Optional(labelsSchema),
  wake: Type.Optional(
    Type.Boolean({ description: "whether connections start it; absent for the server's default" }),
  ),
  idle: Type.Optional(wireIdleSchema),
  checkpoints: Type.Optional(wirePlanSchema),
  expires_at: Type.Optional(
    Type.String({ format: 'date-time', description: 'when it expires; absent for never' }),
  ),
  expire_action: Type.Optional(Type.Enum(EXPIRE_ACTIONS, { description: 'what happens when it expires' })),
  schedule: Type.Optional(wireScheduleSchema),
  settings_error: Type.Optional(
    Type.String({
      description: 'why its settings are unknown; the server then never stops or deletes it on its own',
    }),
  ),
} as const

/** Encodes the settings of a workspace. */
export function settingsToWire({
  labels,
  wakes,
  idle,
  checkpoints,
  expiry,
  schedule,
  settingsError,
}: Workspace) {
  return {
    ...(labels !== undefined && { labels: { ...labels } }),
    ...(wakes !== undefined && { wake: wakes }),
    ...(idle !== undefined && { idle: idleToWire(idle) }),
    ...(checkpoints !== undefined && { checkpoints: planToWire(checkpoints) }),
    ...(expiry !== undefined && { expires_at: expiry.at.toISOString(), expire_action: expiry.action }),
    ...(schedule !== undefined && { schedule: scheduleToWire(schedule) }),
    ...(settingsError !== undefined && { settings_error: settingsError }),
  }
}

/** Encodes a plan of checkpoints. */
export function planToWire({ everyMs, keep, maxAgeMs }: CheckpointPlan): Static<typeof wirePlanSchema> {
  return {
    ...(everyMs !== undefined && { every: Math.ceil(everyMs / 1_000) }),
    ...(keep !== undefined && { keep }),
    ...(maxAgeMs !== undefined && { max_age: Math.ceil(maxAgeMs / 1_000) }),
  }
}

/** Encodes a schedule. */
export function scheduleToWire({ start, stop, timeZone, rest }: Schedule): Static<typeof wireScheduleSchema> {
  return {
    ...(start !== undefined && { start }),
    ...(stop !== undefined && { stop }),
    ...(timeZone !== undefined && { time_zone: timeZone }),
    ...(rest !== undefined && { rest }),
  }
}

/** Encodes idle limits. */
export function idleToWire({ stopAfterMs, suspendAfterMs }: IdleLimits): Static<typeof wireIdleSchema> {
  return {
    ...(stopAfterMs !== undefined && { stop_after: Math.ceil(stopAfterMs / 1_000) }),
    ...(suspendAfterMs !== undefined && { suspend_after: Math.ceil(suspendAfterMs / 1_000) }),
  }
}
