import type { IncomingHttpHeaders } from 'node:http'

/** Returns the id of the last event that a reader received; undefined for a new reader or an invalid id. */
export function lastEventId(headers: IncomingHttpHeaders): number | undefined {
  const id = headers['last-event-id']
  return typeof id === 'string' && /^\d{1,15}$/.test(id) ? Number(id) : undefined
}
