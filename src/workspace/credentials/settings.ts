import { configFault } from '../../lib/config/check.ts'
import type { Decoded } from '../../lib/config/decode.ts'
import { duration, named, optionalText, section } from '../../lib/config/fields.ts'
import { Type } from '../../lib/schema/type.ts'
import { nameKey } from '../name.ts'

/** Limits of a session's duration. Source: AssumeRole in the STS API reference, DurationSeconds. */
const MIN_SESSION_MS = 15 * 60_000
const MAX_SESSION_MS = 12 * 3_600_000

/** Config section `cloud`. */
export const cloudSection = section({
  source_profile: optionalText(
    "profile of the user's credentials file for assuming roles; default the AWS SDK's own lookup",
  ),
  default_role: optionalText('role of workspaces without an entry'),
  workspaces: named(
    Type.Object(
      { role: Type.String({ minLength: 1, description: 'role of that workspace, which cannot choose it' }) },
      { additionalProperties: false },
    ),
    'roles of individual workspaces',
  ),
  session_duration: duration('1h', 'lifetime of issued credentials, 15m to 12h'),
  cache_refresh_before: duration('5m', 'remaining lifetime below which credentials are refreshed'),
  serve_while_valid: Type.Boolean({
    default: true,
    description: 'keep returning valid credentials while new ones cannot be issued',
  }),
})

/** Roles by workspace, and the lifetime of their credentials. */
export type CloudSettings = ReturnType<typeof cloudSettings>

/** Resolves the section. @throws CONFIG_INVALID for values that STS would refuse later */
export function cloudSettings(settings: Decoded<typeof cloudSection>) {
  const { sessionDurationMs, cacheRefreshBeforeMs, defaultRole, workspaces, ...others } = settings
  if (sessionDurationMs < MIN_SESSION_MS || sessionDurationMs > MAX_SESSION_MS)
    throw configFault('CONFIG_INVALID', '"cloud.session_duration" must be between 15m and 12h')
  if (cacheRefreshBeforeMs >= sessionDurationMs)
    throw configFault(
      'CONFIG_INVALID',
      '"cloud.cache_refresh_before" must be shorter than "cloud.session_duration"',
    )
  const roles = new Map(Object.entries(workspaces).map(([name, { role }]) => [nameKey(name), role]))
  return {
    ...others,
    sessionDurationMs,
    cacheRefreshBeforeMs,
    roleOf: (workspace: string): string | undefined => roles.get(nameKey(workspace)) ?? defaultRole,
    /** Whether any workspace can get credentials. */
    isUsed: roles.size > 0 || defaultRole !== undefined,
  }
}
