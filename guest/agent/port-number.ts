import { GuestFailure } from './failure.ts'

/** Validates a port in a request of the host. @throws BAD_REQUEST */
export function portNumber(port: unknown): number {
  if (typeof port === 'number' && Number.isInteger(port) && port >= 1 && port <= 65_535) return port
  throw new GuestFailure('BAD_REQUEST', 'port must be a number from 1 to 65535')
}
