import type { Static } from 'typebox'
import { encodeEvent } from '../../../../lib/sse/sse-stream.ts'
import type { HttpServer } from '../../../../lib/http/server.ts'
import { Type } from '../../../../lib/schema/type.ts'
import {
  createLogEncoder,
  DEFAULT_LINES,
  logFilterFromWire,
  logFilterSchema,
  logQuerySchema,
  logsSchema,
} from '../../../api/log.ts'
import { LogFollower } from '../../../log/log-follower.ts'
import { queryLogs } from '../../../log/query-logs.ts'
import { API } from '../api-path.ts'
import type { DropMetrics } from '../drop-metrics.ts'
import type { SupervisorFace } from '../face.ts'
import { lastEventId } from '../last-event-id.ts'

/** Adds the routes for stored and new log lines. */
export function logRoutes(
  { app, openStream }: HttpServer,
  { supervisor: { logs, table } }: SupervisorFace,
  dropped: DropMetrics,
): void {
  const selectedBy = (query: Static<typeof logFilterSchema>) => {
    const filter = logFilterFromWire(query)
    if (query.group === undefined) return filter
    const members = table.group(query.group).map(({ spec }) => spec.name)
    return { ...filter, processes: [...(filter.processes ?? []), ...members] }
  }
  app.get<{ readonly Querystring: Static<typeof logQuerySchema> }>(
    `${API}/logs`,
    {
      schema: {
        summary: 'Returns the newest stored lines',
        querystring: logQuerySchema,
        response: { 200: logsSchema },
      },
    },
    async ({ query }) => {
      const { lines, filteredCount, totalCount, lastSequence } = await queryLogs(logs, {
        ...selectedBy(query),
        lines: query.lines ?? DEFAULT_LINES,
        bytes: query.bytes,
      })
      return {
        logs: lines.map(createLogEncoder()),
        filtered_count: filteredCount,
        total_count: totalCount,
        last_id: String(lastSequence),
      }
    },
  )

  app.get<{ readonly Querystring: Static<typeof logFilterSchema> }>(
    `${API}/logs/stream`,
    {
      // A response to HEAD would never end.
      exposeHeadRoute: false,
      schema: {
        summary: 'Streams lines as they arrive',
        description:
          'Server-sent events: one message per line with its id. A client that reconnects with Last-Event-ID continues after that ' +
          'line. An event `lost`, {process, lines, exact}, counts lines that a slow reader missed.',
        querystring: logFilterSchema,
        response: {
          200: {
            description: 'log entries',
            content: { 'text/event-stream': { schema: Type.Ref('LogEntry') } },
          },
        },
      },
    },
    ({ query, headers }, reply) => {
      const options = { ...selectedBy(query), afterSequence: lastEventId(headers) }
      const stream = openStream(reply)
      const encode = createLogEncoder()
      const follower = new LogFollower(
        logs,
        {
          isReady: () => stream.hasRoom,
          onLines: (lines) =>
            stream.sendEncoded(
              Buffer.concat(lines.map((line) => encodeEvent(encode(line), undefined, line.sequence))),
            ),
          onLost: (process, lines, exact) => {
            dropped.streamLines.inc(lines)
            stream.send({ process, lines, exact }, 'lost')
          },
        },
        options,
      )
      stream.onDrain(() => follower.resume())
      void stream.closed.then(() => follower.end())
    },
  )
}
