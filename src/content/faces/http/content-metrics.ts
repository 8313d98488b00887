import { Gauge } from 'prom-client'
import type { HttpServer } from '../../../lib/http/server.ts'
import type { ContentFace } from './face.ts'

/** Figures of the cache for Prometheus, looked at when it asks. */
export function contentMetrics({ metrics: { registry } }: HttpServer, { cache }: ContentFace): void {
  const registers = [registry]
  const add = (name: string, help: string, value: () => number): void => {
    const gauge: Gauge = new Gauge({ name, help, registers, collect: () => gauge.set(value()) })
  }
  add('content_cache_bytes', 'Memory that the cache of objects takes', () => cache.heldBytes)
  add('content_cache_objects', 'Keys that the cache knows something of', () => cache.count)
  add('content_cache_hits', 'Looks that the cache alone answered', () => cache.counts.hits)
  add('content_cache_misses', 'Looks that the store was asked for', () => cache.counts.misses)
  add('content_cache_stale', 'Old objects that were given because the store failed', () => cache.counts.stale)
}
