import { Counter } from 'prom-client'
import type { HttpServer } from '../../../lib/http/server.ts'
import type { SupervisorFace } from './face.ts'

/** Counters of what slow readers missed. */
export interface DropMetrics {
  readonly streamLines: Counter
  readonly terminalBytes: Counter
}

/** Adds Prometheus metrics of what was dropped, one for each reason. */
export function dropMetrics(
  { metrics: { registry } }: HttpServer,
  { supervisor }: SupervisorFace,
): DropMetrics {
  const registers = [registry]
  const add = (
    name: string,
    help: string,
    label: string,
    read: () => Iterable<readonly [string, number]>,
  ): void => {
    const counter: Counter = new Counter({
      name,
      help,
      labelNames: [label],
      registers,
      collect() {
        counter.reset()
        for (const [value, count] of read()) counter.inc({ [label]: value }, count)
      },
    })
  }
  add(
    'supervisor_ship_lines_dropped_total',
    'Lines that were not sent to a destination of log.ship',
    'destination',
    () => supervisor.unsentLines,
  )
  add(
    'supervisor_hook_events_dropped_total',
    'Events that a hook missed because it was too slow',
    'hook',
    () => supervisor.droppedEvents,
  )
  add(
    'supervisor_log_file_bytes_dropped_total',
    'Bytes of lines that could not be written to the log file of a process',
    'process',
    () => supervisor.logs.select(undefined).map(([name, source]) => [name, source.counts().fileLostBytes]),
  )
  return {
    streamLines: new Counter({
      name: 'supervisor_stream_lines_dropped_total',
      help: 'Lines that slow readers of a stream missed',
      registers,
    }),
    terminalBytes: new Counter({
      name: 'supervisor_terminal_bytes_dropped_total',
      help: 'Bytes of output that slow viewers of a terminal missed',
      registers,
    }),
  }
}
