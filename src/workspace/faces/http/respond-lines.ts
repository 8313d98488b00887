import { isFault } from '../../../lib/errors/fault.ts'
import type { Lines } from '../../../lib/http/ndjson-body.ts'
import { answerFromWire } from '../../api/bus.ts'
import type { Bus } from '../../bus/bus.ts'
import { WORKSPACE_CODES, fault } from '../../errors.ts'

/** Sends every answer that can be sent; then throws what was wrong with the first that could not. */
export function respondToAll(bus: Bus, namespace: string, { values }: Lines): void {
  let refused = 0
  let first: { readonly line: number; readonly error: unknown } | undefined
  for (const [index, value] of values.entries()) {
    try {
      bus.respond(namespace, answerFromWire(value))
    } catch (error) {
      refused++
      first ??= { line: index + 1, error }
    }
  }
  if (first === undefined) return
  const { line, error } = first
  if (!isFault(error) || !(error.code in WORKSPACE_CODES)) throw error
  throw fault(
    error.code as keyof typeof WORKSPACE_CODES,
    `${refused} of ${values.length} answers were refused, the first in line ${line}: ${error.message}`,
    error,
  )
}
