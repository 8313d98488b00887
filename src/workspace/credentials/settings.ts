import { configFault } from '../../lib/config/check.ts'
import type { Decoded } from '../../lib/config/decode.ts'
import { duration, named, optionalText, section } from '../../lib/config/fields.ts'
import { Type } from '../../lib/schema/type.ts'
import { nameKey } from '../name.ts'

/** How long credentials may live. Source: AssumeRole in the STS API reference, DurationSeconds. */
const MIN_SESSION_MS = 15 * 60_000
const MAX_SESSION_MS = 12 * 3_600_000

/** What the configuration says of cloud credentials. */
export const cloudSection = section({
  source_profile: optionalText(
    "profile of the user's own credentials file that roles are assumed with; default what the AWS SDK finds",
  ),
  default_role: optionalText('role of a workspace that has no entry of its own'),
  workspaces: named(
    Type.Object(
      { role: Type.String({ minLength: 1, description: 'role of that workspace, which cannot choose one' }) },
      { additionalProperties: false },
    ),
    'workspaces with a role of their own',
  ),
  session_duration: duration('1h', 'how long issued credentials live, 15m to 12h'),
  cache_refresh_before: duration('5m', 'credentials that live for less than this are issued anew'),
  serve_while_valid: Type.Boolean({
    default: true,
    description: 'while new ones cannot be had, the old are given out for as long as they live',
  }),
})

/** Whose role is which, and how long credentials of them live. */
export type CloudSettings = ReturnType<typeof cloudSettings>

/** @throws CONFIG_INVALID for what STS would refuse later */
export function cloudSettings(settings: Decoded<typeof cloudSection>) {
  const { sessionDurationMs, cacheRefreshBeforeMs, defaultRole, workspaces, ...others } = settings
  if (sessionDurationMs < MIN_SESSION_MS || sessionDurationMs > MAX_SESSION_MS)
    throw configFault('CONFIG_INVALID', '"cloud.session_duration" must be from 15m to 12h')
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
    /** Whether any workspace can have credentials. */
    isUsed: roles.size > 0 || defaultRole !== undefined,
  }
}
