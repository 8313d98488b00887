import { defineFaults } from '../lib/errors/fault.ts'

/** Error codes of the content server's routes and commands; lib/http/faults has the shared ones. */
export const CONTENT_CODES = {
  PAGE_NOT_FOUND: 'missing',
  NOT_FOR_BROWSERS: 'forbidden',
  INVALID_QUERY: 'invalid',
  LOGIN_REFUSED: 'forbidden',
  TICKET_INVALID: 'forbidden',
  EMBEDDING_REFUSED: 'forbidden',
  SESSION_AMBIGUOUS: 'invalid',
  STORE_UNAVAILABLE: 'upstream',
  PROVIDER_UNAVAILABLE: 'upstream',
  SESSIONS_UNAVAILABLE: 'unavailable',
  SEARCH_BUSY: 'unavailable',
  MARKDOWN_UNAVAILABLE: 'unavailable',
  CANNOT_LISTEN: 'conflict',
  CONDITIONS_UNSUPPORTED: 'upstream',
  PUBLISH_INVALID: 'invalid',
  PUBLISH_CONFLICT: 'conflict',
  PASSWORD_INVALID: 'invalid',
  TOKEN_REFUSED: 'forbidden',
  TOKEN_INVALID: 'invalid',
  TOKEN_EXISTS: 'conflict',
  TOKEN_NOT_FOUND: 'missing',
  READS_NOT_LOGGED: 'invalid',
  SERVER_URL_INVALID: 'invalid',
  SERVER_UNREACHABLE: 'unavailable',
} as const

/** Creates an error of the content server. */
export const fault = defineFaults(CONTENT_CODES)
