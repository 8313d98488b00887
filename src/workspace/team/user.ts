import { randomBytes } from 'node:crypto'
import type { Static } from 'typebox'
import { secretForm } from '../../lib/http/secret-form.ts'
import { Type } from '../../lib/schema/type.ts'
import { fault } from '../errors.ts'
import { ACCESS_LEVELS } from '../access-level.ts'

/** Roles of users: administrators may do everything, guests create no workspaces. */
export const ROLES = ['administrator', 'member', 'guest'] as const
/** A user's role. */
export type Role = (typeof ROLES)[number]

/** Names have no hyphen, so that the beginning of a workspace's name is that of one user. */
const USER_NAME = /^[a-z0-9]{1,32}$/
/** In addresses of the API, the user who sends the request. */
export const SELF = 'me'
const LABEL = /^[A-Za-z0-9][A-Za-z0-9 ._@-]{0,63}$/

const MAX_LIFETIME_MS = 3_650 * 86_400_000
const ID_BYTES = 8
const secret = secretForm('wst')

const time = Type.Integer({ minimum: 0 })

const keySchema = Type.Object({
  name: Type.String(),
  /** As in a line of authorized_keys, without a comment. */
  publicKey: Type.String(),
  fingerprint: Type.String(),
  createdMs: time,
})

const tokenSchema = Type.Object({
  id: Type.String(),
  name: Type.String(),
  /** SHA-256 of the secret, which is not stored. */
  digest: Type.String(),
  /** Highest level that it permits. */
  level: Type.Enum([...ACCESS_LEVELS]),
  /** Names of the workspaces that it is for; absent for all that its user may access. */
  workspaces: Type.Optional(Type.Array(Type.String())),
  createdMs: time,
  expiresMs: time,
})

/** Schema of a stored user. */
export const userSchema = Type.Object({
  /** Unlike the name, never used again. */
  id: Type.String(),
  name: Type.String({ pattern: USER_NAME.source }),
  role: Type.Enum([...ROLES]),
  isDisabled: Type.Boolean(),
  /** Groups at the last login with the OpenID provider. */
  groups: Type.Array(Type.String()),
  /** Issuer and subject at the OpenID provider; absent for a user without one. */
  identity: Type.Optional(Type.String()),
  createdMs: time,
  keys: Type.Array(keySchema),
  tokens: Type.Array(tokenSchema),
})

/** A user, with SSH keys and personal tokens. */
export type User = Readonly<Static<typeof userSchema>>
/** A public key with which a user logs in by SSH. */
export type UserKey = Readonly<Static<typeof keySchema>>
/** A personal token, without its secret. */
export type PersonalToken = Readonly<Static<typeof tokenSchema>>

/** Creates the secret of a token. */
export const createSecret = secret.create

/** Whether a text has the form of a token's secret. */
export const isSecret = secret.matches

/** Creates an ID that is never used again. @param prefix the kind of thing */
export function createId(prefix: 'usr' | 'tok'): string {
  return `${prefix}_${randomBytes(ID_BYTES).toString('hex')}`
}

/** Validates a user's name. @throws INVALID_REQUEST */
export function parseUserName(name: string): string {
  if (USER_NAME.test(name) && name !== SELF) return name
  throw fault(
    'INVALID_REQUEST',
    `user name ${JSON.stringify(name.slice(0, 80))} must be 1 to 32 lower-case letters or digits, and not "${SELF}"`,
  )
}

/** Validates the name of a key or token. @throws INVALID_REQUEST */
export function parseLabel(name: string): string {
  if (LABEL.test(name)) return name
  throw fault(
    'INVALID_REQUEST',
    `name ${JSON.stringify(name.slice(0, 80))} must be 1 to 64 letters, digits, spaces or any of "._@-"`,
  )
}

/** Returns when something that lasts a number of seconds ends. @throws INVALID_REQUEST */
export function expiryAfter(seconds: number, nowMs: number): number {
  const lifetimeMs = seconds * 1_000
  if (lifetimeMs > 0 && lifetimeMs <= MAX_LIFETIME_MS) return nowMs + lifetimeMs
  throw fault('INVALID_REQUEST', 'a token must expire within ten years, and not immediately')
}
