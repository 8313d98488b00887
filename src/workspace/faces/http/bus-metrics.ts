import { Counter, Gauge, type Registry } from 'prom-client'
import type { Bus } from '../../bus/bus.ts'
import type { BusCluster } from '../../bus/cluster/cluster.ts'

/** Registers the bus's Prometheus metrics, whose values are read at each scrape. */
export function addBusMetrics(registry: Registry, bus: Bus, cluster: BusCluster): void {
  const { counts } = bus
  const messages = new Counter({
    name: 'bus_messages_total',
    help: 'Messages accepted from guests, and responses sent to them',
    labelNames: ['type'],
    registers: [],
    collect() {
      this.reset()
      this.inc({ type: 'request' }, counts.requests)
      this.inc({ type: 'response' }, counts.responses)
      this.inc({ type: 'event' }, counts.events)
    },
  })
  const lost = new Counter({
    name: 'bus_lost_total',
    help: 'Messages that were not delivered',
    labelNames: ['why'],
    registers: [],
    collect() {
      this.reset()
      this.inc({ why: 'no_listener' }, counts.droppedEvents)
      this.inc({ why: 'refused' }, counts.refusedMessages)
      this.inc({ why: 'expired' }, counts.expiredRequests)
      this.inc({ why: 'late' }, counts.lateResponses)
      this.inc({ why: 'stray' }, counts.strayMessages)
      this.inc({ why: 'oversized' }, counts.oversizedMessages)
    },
  })
  const gauges: Readonly<Record<string, readonly [help: string, read: () => number]>> = {
    bus_workspaces: ['Workspaces with a connected agent', () => bus.workspaces().length],
    bus_listeners: ['Namespaces with a listener', () => bus.listeners().length],
    bus_servers: ['Other servers connected to the bus', () => cluster.size],
    bus_pending_requests: ['Requests waiting for a response', () => bus.pendingRequests],
  }
  const states = Object.entries(gauges).map(
    ([name, [help, read]]) =>
      new Gauge({
        name,
        help,
        registers: [],
        collect() {
          this.set(read())
        },
      }),
  )
  registry.registerMetric(messages)
  registry.registerMetric(lost)
  for (const state of states) registry.registerMetric(state)
}
