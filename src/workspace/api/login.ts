import type { Static } from 'typebox'
import { Type } from '../../lib/schema/type.ts'
import type { CompletedLogin, DevicePrompt } from '../team/device-login.ts'

const time = Type.String({ format: 'date-time' })

/** Whether users can log in. */
export const loginOfferSchema = Type.Object({
  available: Type.Boolean({ description: 'whether the server has an OpenID provider' }),
})

/** A login that has begun. */
export const loginSchema = Type.Object({
  id: Type.String({ description: 'identifies the login; keep it secret, because the token is given for it' }),
  user_code: Type.String({ description: 'code to enter' }),
  url: Type.String({ description: 'address to open' }),
  complete_url: Type.Optional(Type.String({ description: 'the address with the code' })),
  expires_at: time,
})

/** A login that is complete, or `pending`. */
export const completedLoginSchema = Type.Object({
  pending: Type.Optional(Type.Boolean({ description: 'whether the user has yet to log in' })),
  user: Type.Optional(Type.String()),
  token: Type.Optional(Type.String({ description: 'the token to send as "Authorization: Bearer"' })),
  expires_at: Type.Optional(time),
})

/** Encodes a login that has begun. */
export function promptToWire({
  id,
  userCode,
  url,
  completeUrl,
  expiresAt,
}: DevicePrompt): Static<typeof loginSchema> {
  return {
    id,
    user_code: userCode,
    url,
    ...(completeUrl !== undefined && { complete_url: completeUrl }),
    expires_at: expiresAt.toISOString(),
  }
}

/** Encodes a completed login. */
export function loginToWire({ user, token, secret }: CompletedLogin): Static<typeof completedLoginSchema> {
  return { user: user.name, token: secret, expires_at: new Date(token.expiresMs).toISOString() }
}
