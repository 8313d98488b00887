import { defineFaults } from '../errors/fault.ts'

/** Error codes of every server, used before a route is reached. */
export const HTTP_CODES = {
  INVALID_REQUEST: 'invalid',
  UNAUTHORIZED: 'unauthorized',
  FORBIDDEN_HOST: 'forbidden',
  FORBIDDEN_ORIGIN: 'forbidden',
  ROUTE_NOT_FOUND: 'missing',
  METHOD_NOT_ALLOWED: 'not_allowed',
  REQUEST_TOO_LARGE: 'too_large',
  REQUEST_TIMEOUT: 'timeout',
  INTERNAL_ERROR: 'internal',
} as const

/** Creates errors with the codes that all servers share. */
export const httpFault = defineFaults(HTTP_CODES)
