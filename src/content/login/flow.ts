import type { Static } from 'typebox'
import { Type } from '../../lib/schema/type.ts'

export const flowSchema = Type.Object({
  state: Type.String(),
  nonce: Type.String(),
  verifier: Type.String(),
  next: Type.String(),
})

/** What the browser keeps between its way to the provider and back. */
export type Flow = Readonly<Static<typeof flowSchema>>
