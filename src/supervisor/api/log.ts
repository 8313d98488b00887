import { Type } from '../../lib/schema/type.ts'
import type { LogLine } from '../log/log-line.ts'

/** Schema of a line of output. */
export const logEntrySchema = Type.Object(
  {
    timestamp: Type.String({ description: 'with milliseconds' }),
    process: Type.String(),
    stream: Type.Enum(['stdout', 'stderr']),
    line: Type.String(),
    partial: Type.Optional(
      Type.Boolean({
        description: 'part of a line over 16 KiB, continued in the next entry of the stream',
      }),
    ),
  },
  { $id: 'LogEntry' },
)

/** Schema of a response with lines of output. */
export const logsSchema = Type.Object({
  logs: Type.Array(Type.Ref('LogEntry')),
  filtered_count: Type.Integer({ description: 'stored lines that match the filters' }),
  total_count: Type.Integer({ description: 'stored lines of all processes' }),
  last_id: Type.String({
    description: 'use as Last-Event-ID of a stream with the same filters to continue after this response',
  }),
})

/** A response with lines of output, as clients read it. */
export interface WireLogs {
  readonly logs: readonly WireLogEntry[]
  readonly filtered_count: number
  readonly last_id: string
}

/** A line of output, as clients read it. */
export interface WireLogEntry {
  readonly timestamp: string
  readonly process: string
  readonly stream: string
  readonly line: string
  readonly partial?: true
}

/** Creates an encoder that formats the shared time of consecutive lines once. */
export function createLogEncoder(): (line: LogLine) => WireLogEntry {
  let lastMs = Number.NaN
  let timestamp = ''
  return ({ timeMs, process, stream, text, isCut }) => {
    if (timeMs !== lastMs) timestamp = new Date((lastMs = timeMs)).toISOString()
    return { timestamp, process, stream, line: text, ...(isCut && { partial: true as const }) }
  }
}
