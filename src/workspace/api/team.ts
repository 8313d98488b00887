import type { Static } from 'typebox'
import { Type } from '../../lib/schema/type.ts'
import { ACCESS_LEVELS } from '../access-level.ts'
import { GROUP_PREFIX, type Ownership } from '../ownership.ts'
import { type PersonalToken, ROLES, type User, type UserKey } from '../team/user.ts'
import type { TokenRequest } from '../team/team.ts'
import { nameSchema, STRICT } from './parameters.ts'

const MAX_KEY_LENGTH = 16_384
const MAX_SHARES = 1_000
const MAX_TOKEN_WORKSPACES = 100
const DEFAULT_TOKEN_S = 90 * 86_400
const MAX_TOKEN_S = 3_650 * 86_400

const roleSchema = Type.Enum(ROLES, {
  description:
    'administrator: may do everything; member: creates workspaces; guest: uses those shared with it',
})
const levelSchema = Type.Enum(ACCESS_LEVELS, {
  description: 'read: see it; use: run programs in it; manage: stop, change, copy, share and delete it',
})
// Their forms are checked with the errors of this subject: those of a field `name` are about workspaces.
const userNameSchema = Type.String({ description: '1 to 32 lower-case letters or digits' })
const labelSchema = Type.String({ description: 'a name to recognize it by' })
const time = Type.String({ format: 'date-time' })

/** Schema of an SSH key. */
export const wireKeySchema = Type.Object({
  name: Type.String(),
  fingerprint: Type.String(),
  created_at: time,
})
const tokenFields = {
  id: Type.String(),
  name: Type.String(),
  level: levelSchema,
  workspaces: Type.Optional(
    Type.Array(Type.String(), { description: 'the only workspaces that it is for; absent for all' }),
  ),
  created_at: time,
  expires_at: time,
} as const

/** Schema of a user. */
export const wireUserSchema = Type.Object(
  {
    name: Type.String(),
    role: roleSchema,
    disabled: Type.Boolean(),
    groups: Type.Array(Type.String(), { description: 'groups at the last login' }),
    created_at: time,
    keys: Type.Array(wireKeySchema),
    tokens: Type.Array(Type.Object(tokenFields)),
  },
  { $id: 'User', additionalProperties: false },
)
/** Schema of a new token with its secret. */
export const newTokenSchema = Type.Object({
  ...tokenFields,
  secret: Type.String({ description: 'the token to send as "Authorization: Bearer"; it is shown only here' }),
})

/** Path parameters that select a user: a name, or `me`. */
export const userParams = Type.Object({ user: Type.String({ description: 'a user name, or "me"' }) })
/** Path parameters that select a token of a user. */
export const tokenParams = Type.Object({ ...userParams.properties, id: Type.String() })

/** Request body for a new user. */
export const userBodySchema = Type.Object(
  { name: userNameSchema, role: Type.Optional(Type.Enum(ROLES, { description: 'default member' })) },
  STRICT,
)
/** Request body for changing a user. */
export const userChangeSchema = Type.Object(
  {
    role: Type.Optional(roleSchema),
    disabled: Type.Optional(Type.Boolean({ description: 'whether all access of the user is suspended' })),
  },
  STRICT,
)
/** Request body for a new SSH key. */
export const keyBodySchema = Type.Object(
  {
    name: labelSchema,
    public_key: Type.String({ maxLength: MAX_KEY_LENGTH, description: 'content of a .pub file' }),
  },
  STRICT,
)
/** Query that selects an SSH key. */
export const keyQuerySchema = Type.Object(
  { fingerprint: Type.String({ description: 'as ssh-keygen -l prints it' }) },
  STRICT,
)
/** Request body for a new token. */
export const tokenBodySchema = Type.Object(
  {
    name: labelSchema,
    level: Type.Optional(Type.Enum(ACCESS_LEVELS, { description: 'highest level; default manage' })),
    workspaces: Type.Optional(
      Type.Array(nameSchema, {
        maxItems: MAX_TOKEN_WORKSPACES,
        description: 'the only workspaces that it is for; default all',
      }),
    ),
    expires_after_s: Type.Optional(
      Type.Integer({ minimum: 1, maximum: MAX_TOKEN_S, description: 'seconds; default 90 days' }),
    ),
  },
  STRICT,
)

/** Decodes a request for a token. */
export function tokenRequestFromWire({
  name,
  level,
  workspaces,
  expires_after_s: expiresAfterS,
}: Static<typeof tokenBodySchema>): TokenRequest {
  return { name, level: level ?? 'manage', workspaces, expiresAfterS: expiresAfterS ?? DEFAULT_TOKEN_S }
}

/** Encodes a user, without expired tokens. */
export function userToWire(
  { name, role, isDisabled, groups, createdMs, keys, tokens }: User,
  nowMs: number,
): Static<typeof wireUserSchema> {
  return {
    name,
    role,
    disabled: isDisabled,
    groups: [...groups],
    created_at: timeToWire(createdMs),
    keys: keys.map(keyToWire),
    tokens: tokens.filter(({ expiresMs }) => expiresMs > nowMs).map(tokenToWire),
  }
}

/** Encodes an SSH key. */
export function keyToWire({ name, fingerprint, createdMs }: UserKey): Static<typeof wireKeySchema> {
  return { name, fingerprint, created_at: timeToWire(createdMs) }
}

/** Encodes a token without its secret. */
export function tokenToWire({ id, name, level, workspaces, createdMs, expiresMs }: PersonalToken) {
  return {
    id,
    name,
    level,
    ...(workspaces !== undefined && { workspaces: [...workspaces] }),
    created_at: timeToWire(createdMs),
    expires_at: timeToWire(expiresMs),
  }
}

const sharesSchema = Type.Unsafe<Record<string, (typeof ACCESS_LEVELS)[number]>>({
  type: 'object',
  additionalProperties: levelSchema,
  maxProperties: MAX_SHARES,
  description: `levels by user name, or by ${GROUP_PREFIX}NAME for a group`,
})

/** Who may access a workspace. */
export const accessSchema = Type.Object({
  owner: Type.Optional(Type.String({ description: 'absent if it belongs to the administrators' })),
  shares: sharesSchema,
})
/** Request body that replaces who may access a workspace. */
export const accessBodySchema = Type.Object(
  {
    owner: Type.Optional(Type.String({ description: 'new owner; default the present one' })),
    shares: sharesSchema,
  },
  STRICT,
)

/** Looks up users. */
interface Users {
  readonly find: (idOrName: string) => User | undefined
  readonly get: (idOrName: string) => User
}

/** Encodes who may access a workspace; users that no longer exist are left out. */
export function accessToWire(ownership: Ownership | undefined, users: Users): Static<typeof accessSchema> {
  const owner = ownership?.owner?.name
  const shares = Object.entries(ownership?.shares ?? {}).flatMap(([key, level]) => {
    const shown = key.startsWith(GROUP_PREFIX) ? key : users.find(key)?.name
    return shown === undefined ? [] : [[shown, level] as const]
  })
  return { ...(owner !== undefined && { owner }), shares: Object.fromEntries(shares) }
}

/** Decodes with whom a workspace is shared. @throws USER_NOT_FOUND */
export function sharesFromWire(
  shares: Static<typeof accessBodySchema>['shares'],
  users: Users,
): Ownership['shares'] {
  return Object.fromEntries(
    Object.entries(shares).map(([key, level]) => [
      key.startsWith(GROUP_PREFIX) ? key : users.get(key).id,
      level,
    ]),
  )
}

function timeToWire(ms: number): string {
  return new Date(ms).toISOString()
}
