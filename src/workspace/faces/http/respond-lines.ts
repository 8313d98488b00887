import { isFault } from '../../../lib/errors/fault.ts'
import type { Lines } from '../../../lib/http/ndjson-body.ts'
import { answerFromWire } from '../../api/bus.ts'
import type { BusCluster } from '../../bus/cluster/cluster.ts'
import { WORKSPACE_CODES, fault } from '../../errors.ts'

/** Sends every answer that can be sent; then throws what was wrong with the first that could not. */
export async function respondToAll(cluster: BusCluster, namespace: string, { values }: Lines): Promise<void> {
  const sent = await Promise.allSettled(
    // A line that is no answer rejects as one does that cannot be sent.
    values.map(async (value) => cluster.respond(namespace, answerFromWire(value))),
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
    `${refused.length} of ${values.length} answers were refused, the first in line ${line}: ${error.message}`,
    error,
  )
}
