import { defineFaults, type Fault } from '../lib/errors/fault.ts'
import { STATUS_OF_KIND } from '../lib/http/status.ts'
import type { Static } from 'typebox'
import { Type } from '../lib/schema/type.ts'

/** Error codes of the analyzer's routes and commands; lib/http/faults has the shared ones. */
export const ANALYZER_CODES = {
  BAD_REQUEST: 'invalid',
  CLASS_NOT_FOUND: 'missing',
  METHOD_NOT_FOUND: 'missing',
  FILE_NOT_FOUND: 'missing',
  LIBRARY_CLASS: 'missing',
  JDK_CLASS: 'missing',
  DECOMPILATION_FAILED: 'internal',
  DECOMPILATION_TIMEOUT: 'timeout',
  LINTER_NOT_FOUND: 'unavailable',
  LINTER_FAILED: 'internal',
  NO_CLASSES: 'conflict',
  SEARCH_BUSY: 'unavailable',
  SCAN_NOT_READY: 'unavailable',
  SCAN_FAILED: 'unavailable',
  PROJECT_NOT_FOUND: 'missing',
  SERVER_NOT_RUNNING: 'unavailable',
  SERVER_UNREACHABLE: 'unavailable',
  SERVER_ERROR: 'internal',
  SERVER_START_FAILED: 'internal',
  SERVER_TIMEOUT: 'timeout',
  NO_FREE_PORT: 'conflict',
  PROJECT_IN_USE: 'conflict',
} as const

/** Creates a fault with one of the analyzer's codes. */
export const fault = defineFaults(ANALYZER_CODES)

/** Returns the `type` of an error body. */
function typeOfFault({ code, kind }: Fault): string {
  if (code === 'SCAN_NOT_READY') return 'ScanNotReady'
  if (code === 'SCAN_FAILED') return 'ScanFailed'
  return TYPE_OF_KIND[kind]
}

const TYPE_OF_KIND: Readonly<Record<keyof typeof STATUS_OF_KIND, string>> = {
  invalid: 'BadRequest',
  unauthorized: 'Unauthorized',
  forbidden: 'Forbidden',
  missing: 'NotFound',
  not_allowed: 'MethodNotAllowed',
  conflict: 'Conflict',
  too_large: 'PayloadTooLarge',
  internal: 'InternalError',
  upstream: 'BadGateway',
  unavailable: 'Unavailable',
  timeout: 'Timeout',
  unsupported: 'Unsupported',
}

/** Schema of an error body. */
export const errorSchema = Type.Object({
  error: Type.Literal(true),
  code: Type.Integer(),
  type: Type.String(),
  message: Type.String(),
})
/** Error body of a response. */
export type WireError = Readonly<Static<typeof errorSchema>>

/** Converts a fault to an error body. */
export function errorToWire(failure: Fault): WireError {
  const { kind, message } = failure
  return { error: true, code: STATUS_OF_KIND[kind], type: typeOfFault(failure), message }
}
