import { fault } from '../../errors.ts'

/** Anything but true and false is refused before anything is touched: a misread `TRUE` would delete. */
export function parseFlag(name: string, value: string | undefined): boolean {
  if (value === undefined || value === 'false') return false
  if (value === 'true') return true
  throw fault('INVALID_REQUEST', `${name} must be true or false, not ${JSON.stringify(value)}`)
}
