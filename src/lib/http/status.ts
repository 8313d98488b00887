import type { FaultKind } from '../errors/fault.ts'

/** The one translation from what went wrong to an HTTP status. */
export const STATUS_OF_KIND: Readonly<Record<FaultKind, number>> = {
  invalid: 400,
  unauthorized: 401,
  forbidden: 403,
  missing: 404,
  not_allowed: 405,
  conflict: 409,
  too_large: 413,
  internal: 500,
  unsupported: 501,
  upstream: 502,
  unavailable: 503,
  timeout: 504,
}

/** Returns what went wrong, from the status of an answer; `internal` for a status that no kind has. */
export function kindOfStatus(status: number): FaultKind {
  const kinds = Object.entries(STATUS_OF_KIND) as [FaultKind, number][]
  return kinds.find(([, known]) => known === status)?.[0] ?? 'internal'
}
