import { isNamespace } from '../../lib/envelope/envelope.ts'
import { fault } from '../errors.ts'

/** @throws INVALID_NAMESPACE */
export function parseNamespace(value: unknown): string {
  if (isNamespace(value)) return value
  const shown = typeof value === 'string' ? JSON.stringify(value.slice(0, 80)) : String(value)
  throw fault('INVALID_NAMESPACE', `namespace ${shown} must be 1 to 128 of letters, digits and . _ : -`)
}
