import { Type } from '../../lib/schema/type.ts'
import type { LogLine } from '../log/log-line.ts'

export const logEntrySchema = Type.Object(
  {
    timestamp: Type.String({ description: 'with milliseconds' }),
    process: Type.String(),
    stream: Type.Enum(['stdout', 'stderr']),
    line: Type.String(),
    partial: Type.Optional(
      Type.Boolean({
        description: 'a piece of a line over 16 KiB, which goes on in the next entry of the stream',
      }),
    ),
  },
  { $id: 'LogEntry' },
)

export const logsSchema = Type.Object({
  logs: Type.Array(Type.Ref('LogEntry')),
  filtered_count: Type.Integer({ description: 'kept lines that pass the filters' }),
  total_count: Type.Integer({ description: 'kept lines of all processes' }),
  last_id: Type.String({
    description: 'as Last-Event-ID of a stream with the same filters: it goes on where this answer ends',
  }),
})

export interface WireLogs {
  readonly logs: readonly WireLogEntry[]
  readonly last_id: string
}

export interface WireLogEntry {
  readonly timestamp: string
  readonly process: string
  readonly stream: string
  readonly line: string
  readonly partial?: true
}

/** Lines that came together share their time. */
export function createLogEncoder(): (line: LogLine) => WireLogEntry {
  let lastMs = Number.NaN
  let timestamp = ''
  return ({ timeMs, process, stream, text, isCut }) => {
    if (timeMs !== lastMs) timestamp = new Date((lastMs = timeMs)).toISOString()
    return { timestamp, process, stream, line: text, ...(isCut && { partial: true as const }) }
  }
}
