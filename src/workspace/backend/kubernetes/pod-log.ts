import { type ApiClient, ApiFailure, type Query } from './api/api-client.ts'
import { CONTAINER } from './manifests.ts'

/** Yields what a pod's main container has printed; nothing for a pod that does not exist or has not started. */
export async function* readPodLog(
  client: ApiClient,
  pod: string,
  query: Query,
  signal: AbortSignal,
): AsyncGenerator<Buffer> {
  try {
    yield* await client.open(`${pod}/log`, { container: CONTAINER, ...query }, signal)
  } catch (error) {
    const isAbsent = error instanceof ApiFailure && (error.status === 404 || error.status === 400)
    if (!isAbsent && !signal.aborted) throw error
  }
}
