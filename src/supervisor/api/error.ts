import type { Fault } from '../../lib/errors/fault.ts'
import { Type } from '../../lib/schema/type.ts'

/** Body of every error response. */
export const errorSchema = Type.Object({ error: Type.String(), code: Type.String() }, { $id: 'Error' })

/** Converts an error to a response body. */
export function errorToWire({ code, message }: Fault): { readonly error: string; readonly code: string } {
  return { error: message, code }
}
