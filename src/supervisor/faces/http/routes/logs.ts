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
  process: 'names of processes with commas between; default all',
  pattern: 'only lines that hold this text',
  regex: "true: pattern is a regular expression of RE2's syntax",
  strip_ansi: 'true: without the sequences that colour lines',
}

interface Asked {
  readonly Querystring: RawQuery
}

/** What the processes have printed, and what they print. */
export function logRoutes({ app, openStream }: HttpServer, { supervisor: { logs } }: SupervisorFace): void {
  app.get<Asked>(
    `${API}/logs`,
    {
      schema: {
        summary: 'The newest lines that are kept',
        querystring: querySchema({
          ...filters,
          lines: `at most so many lines, up to ${MAX_LINES}; default ${DEFAULT_LINES}`,
          bytes: 'at most so many bytes of lines; default no bound',
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
      // The answer to HEAD would never end.
      exposeHeadRoute: false,
      schema: {
        summary: 'Stream of lines as they come',
        description:
          'Server-sent events: a message for each line, with its id. Whoever comes back with Last-Event-ID goes on behind that ' +
          'line. Lines that were gone before a reader took them are counted in an event `lost`: {process, lines, exact}.',
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
