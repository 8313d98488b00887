import { defineFaults } from '../lib/errors/fault.ts'

/** Error codes of the supervisor's routes; shared ones are in lib/http/faults. */
export const SUPERVISOR_CODES = {
  PROCESS_NOT_FOUND: 'missing',
  GROUP_NOT_FOUND: 'missing',
  PROCESS_ALREADY_RUNNING: 'conflict',
  PROCESS_NOT_RUNNING: 'conflict',
  PROCESS_START_FAILED: 'internal',
  NO_TERMINAL: 'conflict',
  INPUT_NOT_READ: 'unavailable',
  INVALID_PATTERN: 'invalid',
  INVALID_QUERY: 'invalid',
  REQUEST_NOT_FOUND: 'missing',
  PROXY_NOT_ENABLED: 'unavailable',
  SHUTDOWN_IN_PROGRESS: 'unavailable',
  REPLAY_FAILED: 'upstream',
  BODY_NOT_KEPT: 'conflict',
} as const

/** Creates errors with the supervisor's codes. */
export const fault = defineFaults(SUPERVISOR_CODES)
