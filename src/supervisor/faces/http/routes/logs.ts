import { encodeEvent } from '../../../../lib/sse/sse-stream.ts'
import type { HttpServer } from '../../../../lib/http/server.ts'
import { Type } from '../../../../lib/schema/type.ts'
import { createLogEncoder, logsSchema } from '../../../api/log.ts'
import { flagOf, namesOf, numberOf, querySchema, type RawQuery, textOf } from '../../../api/query.ts'
import { createLineTest } from '../../../log/line-filter.ts'
import { LogFollower } from '../../../log/log-follower.ts'
import { queryLogs } from '../../../log/query-logs.ts'
import { API } from '../api-path.ts'
import type { SupervisorFace } from '../face.ts'
import { lastEventId } from '../last-event-id.ts'

const MAX_LINES = 10_000
const DEFAULT_LINES = 100

const filters = {
  process: 'comma-separated names of processes; default: all',
  pattern: 'only lines that contain this text',
  regex: 'true: the pattern is an RE2 regular expression',
  strip_ansi: 'true: removes color sequences',
}

interface Asked {
  readonly Querystring: RawQuery
}

/** Adds the routes for stored and new log lines. */
export function logRoutes({ app, openStream }: HttpServer, { supervisor: { logs } }: SupervisorFace): void {
  app.get<Asked>(
    `${API}/logs`,
    {
      schema: {
        summary: 'Returns the newest stored lines',
        querystring: querySchema({
          ...filters,
          lines: `maximum number of lines, up to ${MAX_LINES}; default ${DEFAULT_LINES}`,
          bytes: 'maximum number of bytes; default: unlimited',
        }),
        response: { 200: logsSchema, '4xx': Type.Ref('Error') },
      },
    },
    async ({ query }) => {
      const { lines, filteredCount, totalCount, lastSequence } = await queryLogs(logs, {
        ...filterOf(query),
        lines: numberOf(query, 'lines', { most: MAX_LINES }) ?? DEFAULT_LINES,
        bytes: numberOf(query, 'bytes', { most: Number.MAX_SAFE_INTEGER }),
      })
      return {
        logs: lines.map(createLogEncoder()),
        filtered_count: filteredCount,
        total_count: totalCount,
        last_id: String(lastSequence),
      }
    },
  )

  app.get<Asked>(
    `${API}/logs/stream`,
    {
      // A response to HEAD would never end.
      exposeHeadRoute: false,
      schema: {
        summary: 'Streams lines as they arrive',
        description:
          'Server-sent events: one message per line with its id. A client that reconnects with Last-Event-ID continues after that ' +
          'line. An event `lost`, {process, lines, exact}, counts lines that a slow reader missed.',
        querystring: querySchema(filters),
        response: {
          200: {
            description: 'log entries',
            content: { 'text/event-stream': { schema: Type.Ref('LogEntry') } },
          },
          '4xx': Type.Ref('Error'),
        },
      },
    },
    ({ query, headers }, reply) => {
      const options = { ...filterOf(query), afterSequence: lastEventId(headers) }
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
          onLost: (process, lines, exact) => stream.send({ process, lines, exact }, 'lost'),
        },
        options,
      )
      stream.onDrain(() => follower.resume())
      void stream.closed.then(() => follower.end())
    },
  )
}

function filterOf(query: RawQuery) {
  return {
    processes: namesOf(query, 'process'),
    test: createLineTest(textOf(query, 'pattern'), flagOf(query, 'regex')),
    isPlain: flagOf(query, 'strip_ansi'),
  }
}
