import type { Static } from 'typebox'
import { Type } from '../../lib/schema/type.ts'

/** Schema of the cookie's content. */
export const flowSchema = Type.Object({
  state: Type.String(),
  nonce: Type.String(),
  verifier: Type.String(),
  next: Type.String(),
})

/** State of a login at an OpenID provider, kept in a cookie until the provider redirects back. */
export type Flow = Readonly<Static<typeof flowSchema>>
