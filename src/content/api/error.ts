import type { Fault } from '../../lib/errors/fault.ts'
import { Type } from '../../lib/schema/type.ts'

/** Schema of error bodies below `/_api` and `/_admin`. */
export const errorSchema = Type.Object(
  { error: Type.Object({ code: Type.String(), message: Type.String() }) },
  { $id: 'Error' },
)

/** Converts an error to its wire form. */
export function errorToWire({ code, message }: Fault) {
  return { error: { code, message } }
}
