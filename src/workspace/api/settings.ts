import type { Static, TSchema } from 'typebox'
import { Type } from '../../lib/schema/type.ts'
import { labelsSchema } from '../labels.ts'
import { EXPIRE_ACTIONS, type IdleLimits, MAX_SETTING_S, type SettingsInput } from '../workspace-settings.ts'
import type { Workspace } from '../workspace.ts'
import { STRICT } from './parameters.ts'

/** An optional field that may also be null. */
export const orNull = <T extends TSchema>(schema: T) => Type.Optional(Type.Union([schema, Type.Null()]))

const durationSchema = (description: string) =>
  Type.Optional(
    Type.Union([Type.String(), Type.Integer(), Type.Null()], {
      description: `${description}: seconds, or a duration such as 90m; 0 for never; default from the configuration`,
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
export function settingsFromWire({ labels, wake, idle, ...expiry }: WireSettings): SettingsInput {
  const { ttl_s: ttlS, expires_at: expiresAt, expire_action: expireAction } = expiry
  return {
    labels,
    wake,
    idle: idle && { stopAfter: idle.stop_after, suspendAfter: idle.suspend_after },
    ttlS,
    expiresAt,
    expireAction,
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

/** Settings in responses; values that the server decides are absent. */
export const wireSettingsFields = {
  labels: Type.Optional(labelsSchema),
  wake: Type.Optional(
    Type.Boolean({ description: "whether connections start it; absent for the server's default" }),
  ),
  idle: Type.Optional(wireIdleSchema),
  expires_at: Type.Optional(
    Type.String({ format: 'date-time', description: 'when it expires; absent for never' }),
  ),
  expire_action: Type.Optional(Type.Enum(EXPIRE_ACTIONS, { description: 'what happens when it expires' })),
  settings_error: Type.Optional(
    Type.String({
      description: 'why its settings are unknown; the server then never stops or deletes it on its own',
    }),
  ),
} as const

/** Encodes the settings of a workspace. */
export function settingsToWire({ labels, wakes, idle, expiry, settingsError }: Workspace) {
  return {
    ...(labels !== undefined && { labels: { ...labels } }),
    ...(wakes !== undefined && { wake: wakes }),
    ...(idle !== undefined && { idle: idleToWire(idle) }),
    ...(expiry !== undefined && { expires_at: expiry.at.toISOString(), expire_action: expiry.action }),
    ...(settingsError !== undefined && { settings_error: settingsError }),
  }
}

/** Encodes idle limits. */
export function idleToWire({ stopAfterMs, suspendAfterMs }: IdleLimits): Static<typeof wireIdleSchema> {
  return {
    ...(stopAfterMs !== undefined && { stop_after: Math.ceil(stopAfterMs / 1_000) }),
    ...(suspendAfterMs !== undefined && { suspend_after: Math.ceil(suspendAfterMs / 1_000) }),
  }
}
