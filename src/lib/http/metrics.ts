import type { IncomingMessage } from 'node:http'
import type { FastifyInstance } from 'fastify'
import { collectDefaultMetrics, Counter, Histogram, Registry } from 'prom-client'

/** A server's Prometheus metrics: the process's, requests by route, and streams dropped for slow readers. */
export interface Metrics {
  readonly registry: Registry
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
  return { registry, droppedStreams }
}

/** Measures every request by method, route (not path, which is unbounded) and status, and serves `GET /metrics`. */
export function serveMetrics(
  app: FastifyInstance,
  { registry }: Metrics,
  isDiverted: (request: IncomingMessage) => boolean = () => false,
): void {
  const duration = new Histogram({
    name: 'http_request_duration_seconds',
    help: 'Time from a request to the end of its response',
    labelNames: ['method', 'route', 'status'],
    buckets: [0.001, 0.005, 0.02, 0.1, 0.5, 2, 10, 60],
    registers: [registry],
  })
  // Looking up a series by its labels takes as long as a small response.
  const series = new Map<string, { observe: (seconds: number) => void }>()
  app.addHook('onResponse', (request, reply, done) => {
    const { method } = request
    const route = isDiverted(request.raw) ? 'diverted' : (request.routeOptions.url ?? 'none')
    const key = `${method} ${reply.statusCode} ${route}`
    const known = series.get(key) ?? duration.labels({ method, route, status: reply.statusCode })
    series.set(key, known)
    known.observe(reply.elapsedTime / 1000)
    done()
  })
  app.get('/metrics', { schema: { hide: true } }, async (_request, reply) => {
    void reply.type(registry.contentType)
    return registry.metrics()
  })
}
