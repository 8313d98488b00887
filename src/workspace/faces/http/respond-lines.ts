import { isFault } from '../../../lib/errors/fault.ts'
import type { Lines } from '../../../lib/http/ndjson-body.ts'
import { answerFromWire } from '../../api/bus.ts'
import type { Answer } from '../../bus/bus.ts'
import { WORKSPACE_CODES, fault } from '../../errors.ts'

/**
 * Sends every answer that can be sent.
 *
 * @throws the error of the first answer that could not be sent
 */
export async function respondToAll(
  respond: (answer: Answer) => Promise<void>,
  { values }: Lines,
): Promise<void> {
  const sent = await Promise.allSettled(
    // An invalid line rejects like an answer that cannot be sent.
    values.map(async (value) => respond(answerFromWire(value))),
  )
  const refused = sent.flatMap((each, index) =>
    each.status === 'rejected' ? [{ line: index + 1, error: each.reason as unknown }] : [],
  )
  const [first] = refused
  if (first === undefined) return
  const { line, error } = first
  if (!isFault(error) || !(error.code in WORKSPACE_CODES)) throw error
  throw fault(
    error.code as keyof typeof WORKSPACE_CODES,
    `${refused.length} of ${values.length} answers were rejected, the first on line ${line}: ${error.message}`,
    error,
  )
}
