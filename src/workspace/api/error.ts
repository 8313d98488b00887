import { Type } from '../../lib/schema/type.ts'
import type { Fault } from '../../lib/errors/fault.ts'

/** The error body of every route. */
export const errorSchema = Type.Object(
  { error: Type.Object({ code: Type.String(), message: Type.String() }) },
  { $id: 'Error' },
)

/** Encodes an error. */
export function errorToWire(fault: Fault) {
  return { error: { code: fault.code, message: fault.message } }
}
