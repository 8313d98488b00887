import type { Static } from 'typebox'
import { Type } from '../../lib/schema/type.ts'
import { createLineTest } from '../log/line-filter.ts'
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

/** Lines of a response by default. */
export const DEFAULT_LINES = 100

const filters = {
  process: Type.Optional(
    Type.Array(Type.String(), {
      description: 'names of processes, repeated or separated by commas; default: all',
    }),
  ),
  group: Type.Optional(Type.String({ description: 'name of a group, whose processes are added' })),
  pattern: Type.Optional(Type.String({ description: 'only lines that contain this text' })),
  regex: Type.Optional(
    Type.Boolean({ description: 'the pattern is an RE2 regular expression; default false' }),
  ),
  strip_ansi: Type.Optional(Type.Boolean({ description: 'remove color sequences; default false' })),
}

/** Query that selects lines. */
export const logFilterSchema = Type.Object(filters)

/** Query for stored lines. */
export const logQuerySchema = Type.Object({
  ...filters,
  lines: Type.Optional(
    Type.Integer({
      minimum: 0,
      maximum: 10_000,
      'x-clamped': true,
      default: DEFAULT_LINES,
      description: 'maximum number of lines',
    }),
  ),
  bytes: Type.Optional(
    Type.Integer({ minimum: 0, description: 'maximum number of bytes; default: unlimited' }),
  ),
})

/** Decodes the selection of lines; empty texts select all. @throws INVALID_PATTERN */
export function logFilterFromWire(query: Static<typeof logFilterSchema>) {
  const names = (query.process ?? [])
    .flatMap((text) => text.split(','))
    .map((text) => text.trim())
    .filter((text) => text !== '')
  return {
    processes: names.length === 0 ? undefined : names,
    test: createLineTest(query.pattern || undefined, query.regex === true),
    isPlain: query.strip_ansi === true,
  }
}
