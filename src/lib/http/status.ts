import type { FaultKind } from '../errors/fault.ts'

/** The one translation from what went wrong to an HTTP status. */
export const STATUS_OF_KIND: Readonly<Record<FaultKind, number>> = {
  invalid: 400,
  unauthorized: 401,
  forbidden: 403,
  missing: 404,
  conflict: 409,
  too_large: 413,
  internal: 500,
  unsupported: 501,
  upstream: 502,
  unavailable: 503,
  timeout: 504,
}
