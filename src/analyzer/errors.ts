import { defineFaults } from '../lib/errors/fault.ts'

/** Every code that the analyzer's own routes answer with; the shared ones are in lib/http/faults. */
export const ANALYZER_CODES = {
  BAD_REQUEST: 'invalid',
  CLASS_NOT_FOUND: 'missing',
  SCAN_NOT_READY: 'unavailable',
  SCAN_FAILED: 'unavailable',
} as const

export const fault = defineFaults(ANALYZER_CODES)
