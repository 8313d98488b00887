import { Histogram, type Registry } from 'prom-client'
import type { Timeline } from '../../timeline/timeline.ts'

const BUCKETS_S = [0.1, 0.3, 1, 3, 10, 30, 100, 300, 1_000]

/** Registers the histogram of the phases of creations and starts. */
export function addPhaseMetrics(registry: Registry, timeline: Timeline): void {
  const seconds = new Histogram({
    name: 'workspace_phase_seconds',
    help: 'Duration of the phases of creations and starts of workspaces',
    labelNames: ['phase', 'outcome'],
    buckets: BUCKETS_S,
    registers: [registry],
  })
  timeline.onPhaseEnd((phase, durationMs, outcome) => seconds.observe({ phase, outcome }, durationMs / 1000))
}
