import { configFault } from '../../lib/config/check.ts'
import type { Decoded } from '../../lib/config/decode.ts'
import { duration, flag, optionalSection, optionalText, section, texts } from '../../lib/config/fields.ts'
import { isHttpUrl } from '../../lib/http/http-url.ts'
import { Type } from '../../lib/schema/type.ts'

const quota = (description: string) => Type.Optional(Type.Integer({ minimum: 1, description }))

/** Config section `team`. */
export const teamSection = section({
  enabled: flag(
    false,
    'serve several users: every request requires a personal token, and every SSH login a key of a user',
  ),
  login_lifetime: duration('30d', 'how long the token of a login with the OpenID provider is valid'),
  quota: section({
    workspaces: quota('maximum number of workspaces that a member owns; default none'),
    cpus: quota("maximum number of CPUs of a member's workspaces together; default none"),
    memory_mb: quota("maximum memory of a member's workspaces together, in MiB; default none"),
    idle: duration(
      '0s',
      "idle time after which a member's workspace stops, regardless of its limit; 0s: none",
    ),
  }),
  oidc: optionalSection({
    issuer: Type.String({ minLength: 1, description: 'URL of the OpenID provider' }),
    client_id: Type.String({ minLength: 1, description: 'ID of this server at the provider' }),
    client_secret_file: optionalText('file with the secret of a confidential client'),
    scope: Type.String({ default: 'openid profile email', description: 'scopes to request' }),
    name_claim: Type.String({
      default: 'preferred_username',
      description: 'claim from which the name of a new user is made; the email address without it',
    }),
    groups_claim: optionalText("claim with the user's groups"),
    allowed_groups: texts('groups whose members may log in; empty for everyone whom the provider admits'),
    administrator_groups: texts('groups whose members are administrators'),
  }),
})

/** Settings of a server with several users. */
export type TeamSettings = ReturnType<typeof teamSettings>

/** Settings that have another meaning, or none, on a server with users. */
interface OtherSettings {
  readonly ssh: { readonly authorizedKeys?: string | undefined }
  readonly e2b: { readonly enabled: boolean }
}

/** Checks the section against the others. @throws CONFIG_INVALID when keys contradict each other */
export function teamSettings({
  team: settings,
  ssh,
  e2b,
}: OtherSettings & { readonly team: Decoded<typeof teamSection> }) {
  const { enabled, oidc } = settings
  if (enabled && ssh.authorizedKeys !== undefined)
    throw configFault(
      'CONFIG_INVALID',
      'team.enabled excludes ssh.authorized_keys: each user adds keys ("workspace key add")',
    )
  if (enabled && e2b.enabled)
    throw configFault(
      'CONFIG_INVALID',
      'team.enabled excludes e2b.enabled: the SDKs of E2B know one key for all sandboxes',
    )
  if (oidc === undefined) return { ...settings, oidc: undefined }
  if (!enabled) throw configFault('CONFIG_INVALID', 'team.oidc requires team.enabled')
  const names = oidc.allowedGroups.length + oidc.administratorGroups.length
  if (names > 0 && oidc.groupsClaim === undefined)
    throw configFault(
      'CONFIG_INVALID',
      'team.oidc.allowed_groups and administrator_groups require groups_claim',
    )
  if (!isHttpUrl(oidc.issuer))
    throw configFault('CONFIG_INVALID', `team.oidc.issuer "${oidc.issuer}" must be an http or https URL`)
  return { ...settings, oidc }
}
