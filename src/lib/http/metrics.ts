import type { FastifyInstance, FastifyRequest } from 'fastify'
import { collectDefaultMetrics, Counter, Registry } from 'prom-client'
import { RequestDurations } from './request-durations.ts'

/** A server's Prometheus metrics: the process's, requests by route, and streams dropped for slow readers. */
export interface Metrics {
  readonly registry: Registry
  readonly requests: RequestDurations
  readonly droppedStreams: Counter
}

/** Creates a server's metrics in a new registry. */
export function createMetrics(): Metrics {
  const registry = new Registry()
  collectDefaultMetrics({ register: registry })
  const droppedStreams = new Counter({
    name: 'sse_streams_dropped_total',
    help: 'Event streams closed because their reader fell behind',
    registers: [registry],
  })
  return { registry, requests: new RequestDurations(), droppedStreams }
}

/** Handler of a request; `nothing` when it was passed on, and is measured as another. */
export type RequestHandler = 'route' | 'diverted' | 'nothing'

/** Measures every routed request by method, route and status, and serves `GET /metrics`. */
export function serveMetrics(
  app: FastifyInstance,
  { registry, requests }: Metrics,
  handlerOf: (request: FastifyRequest) => RequestHandler = () => 'route',
): void {
  app.addHook('onResponse', (request, reply, done) => {
    const handler = handlerOf(request)
    const route = handler === 'route' ? (request.routeOptions.url ?? 'none') : handler
    if (route !== 'nothing') requests.count(request.method, route, reply.statusCode, reply.elapsedTime)
    done()
  })
  app.get('/metrics', { schema: { hide: true } }, async (_request, reply) => {
    void reply.type(registry.contentType)
    return `${await registry.metrics()}\n${requests.toText()}`
  })
}
