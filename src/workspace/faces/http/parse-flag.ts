import { fault } from '../../errors.ts'

/**
 * Parses a boolean query parameter that is `true` or `false`: a lenient reading of `TRUE` could delete data.
 *
 * @throws INVALID_REQUEST when the value is anything else
 */
export function parseFlag(name: string, value: string | undefined): boolean {
  if (value === undefined || value === 'false') return false
  if (value === 'true') return true
  throw fault('INVALID_REQUEST', `${name} must be true or false, not ${JSON.stringify(value)}`)
}
