import { Gauge } from 'prom-client'
import type { HttpServer } from '../../../lib/http/server.ts'
import { statusOf, STATUSES } from '../../process/process-state.ts'
import type { SupervisorFace } from './face.ts'

/** Adds Prometheus metrics of the processes, collected on request. */
export function processMetrics(
  { metrics: { registry } }: HttpServer,
  { supervisor, usage }: SupervisorFace,
): void {
  const registers = [registry]
  const labelNames = ['process'] as const
  const processes = () => supervisor.table.list()
  const add = (name: string, help: string, fill: (gauge: Gauge<'process'>) => void): void => {
    const gauge: Gauge<'process'> = new Gauge({
      name,
      help,
      labelNames,
      registers,
      collect() {
        gauge.reset()
        fill(gauge)
      },
    })
  }
  const states: Gauge<'process' | 'status'> = new Gauge({
    name: 'supervisor_process_status',
    help: '1 for the current status of a process',
    labelNames: ['process', 'status'],
    registers,
    collect() {
      states.reset()
      for (const { spec, state } of processes())
        for (const status of STATUSES)
          states.set({ process: spec.name, status }, status === statusOf(state) ? 1 : 0)
    },
  })
  add('supervisor_process_restarts', 'Number of restarts of a process', (gauge) => {
    for (const { spec, restarts } of processes()) gauge.set({ process: spec.name }, restarts)
  })
  add(
    'supervisor_process_uptime_seconds',
    'Time since a process was started; 0 if it is not running',
    (gauge) => {
      for (const { spec, uptimeMs } of processes()) gauge.set({ process: spec.name }, uptimeMs / 1_000)
    },
  )
  add('supervisor_process_healthy', '1 if the last health checks of a process succeeded', (gauge) => {
    for (const { spec, health } of processes())
      if (spec.healthCheck !== undefined)
        gauge.set({ process: spec.name }, health.health === 'healthy' ? 1 : 0)
  })
  add('supervisor_process_memory_bytes', 'Memory of a process and everything it started', (gauge) => {
    for (const { name, memoryBytes } of usage.read()) gauge.set({ process: name }, memoryBytes)
  })
  add('supervisor_process_log_lines', 'Lines that a process has printed', (gauge) => {
    for (const [name, source] of supervisor.logs.select(undefined))
      gauge.set({ process: name }, source.counts().end)
  })
}
