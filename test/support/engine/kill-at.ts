import type { EngineProxy } from './engine-proxy.ts'

/** A step of a server's work: before a request reaches the engine, after it does, or at its response. */
export interface Moment {
  readonly when: 'before' | 'during' | 'after'
  /** Such as `POST /containers/ID/start`, without a query. */
  readonly request: string
}

/** Returns all steps of these requests. */
export function momentsOf(requests: readonly string[]): readonly Moment[] {
  return requests.flatMap((request) =>
    (['before', 'during', 'after'] as const).map((when) => ({ when, request })),
  )
}

/** Kills the server behind a proxy at a given step. */
export function killAt(proxy: EngineProxy, { when, request }: Moment, kill: () => void): void {
  const isIt = (seen: string) =>
    seen.replace(/\?.*/, '').replace(/\/containers\/[^/]+\/(?=[a-z]+$)/, '/containers/ID/') === request
  proxy.onRequest = (seen) => {
    if (when === 'after' || !isIt(seen)) return 'pass'
    kill()
    return when === 'before' ? 'drop' : 'pass'
  }
  proxy.onAnswer = (seen) => {
    if (when !== 'after' || !isIt(seen)) return 'pass'
    kill()
    return 'drop'
  }
}

/** Lets everything through a proxy again. */
export function heal(proxy: EngineProxy): void {
  proxy.onRequest = proxy.onAnswer = () => 'pass'
}
