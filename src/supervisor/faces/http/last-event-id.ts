import type { IncomingHttpHeaders } from 'node:http'

/** The number of the last event that a reader had; undefined for a new one, and for what is no number of ours. */
export function lastEventId(headers: IncomingHttpHeaders): number | undefined {
  const id = headers['last-event-id']
  return typeof id === 'string' && /^\d{1,15}$/.test(id) ? Number(id) : undefined
}
