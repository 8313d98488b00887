import type { FaultKind } from '../errors/fault.ts'

/** HTTP status of each kind of fault. */
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

/** Returns the kind of fault for a response's status; `internal` for other statuses. */
export function kindOfStatus(status: number): FaultKind {
  const kinds = Object.entries(STATUS_OF_KIND) as [FaultKind, number][]
  return kinds.find(([, known]) => known === status)?.[0] ?? 'internal'
}
