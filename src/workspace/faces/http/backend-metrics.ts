import { Counter, type Registry } from 'prom-client'
import type { Troubles } from '../../lifecycle/troubles.ts'

/** Registers the counter of the backends' failures, whose values are read at each scrape. */
export function addBackendMetrics(registry: Registry, troubles: Troubles): void {
  const failures = new Counter({
    name: 'workspace_backend_troubles_total',
    help: 'Failures of work that backends do without a request, such as restoring network rules',
    labelNames: ['backend', 'what'],
    registers: [],
    collect() {
      this.reset()
      for (const { count, ...labels } of troubles.counts) this.inc(labels, count)
    },
  })
  registry.registerMetric(failures)
}
