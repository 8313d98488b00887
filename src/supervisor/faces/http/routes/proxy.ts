import type { Static } from 'typebox'
import type { HttpServer } from '../../../../lib/http/server.ts'
import { Type } from '../../../../lib/schema/type.ts'
import { encodeEvent } from '../../../../lib/sse/sse-stream.ts'
import { createLogEncoder } from '../../../api/log.ts'
import {
  DEFAULT_REQUESTS,
  headersToWire,
  requestFilterFromWire,
  requestFilterSchema,
  requestQuerySchema,
  requestsSchema,
  requestToWire,
} from '../../../api/request.ts'
import { fault } from '../../../errors.ts'
import { queryLogs } from '../../../log/query-logs.ts'
import { type CapturedRequest, passes } from '../../../proxy/captured-request.ts'
import { replay } from '../../../proxy/replay.ts'
import { API } from '../api-path.ts'
import type { SupervisorFace } from '../face.ts'
import { lastEventId } from '../last-event-id.ts'

/** Maximum number of lines shown with a request. */
const SHOWN_LINES = 500
/** Time after the response in which a process may still print lines for a request. */
const AFTER_MS = 50

const params = Type.Object({ id: Type.String() })

interface Identified {
  readonly Params: { readonly id: string }
}

/** Adds the routes of requests that went through the proxy. */
export function proxyRoutes({ app, openStream }: HttpServer, { proxy, supervisor }: SupervisorFace): void {
  const enabled = () => {
    if (proxy === undefined)
      throw fault('PROXY_NOT_ENABLED', 'the proxy is not enabled; set proxy.enabled to true')
    return proxy
  }
  const get = (id: string): CapturedRequest => {
    const found = enabled().requests.find(Number(id))
    if (found === undefined) throw fault('REQUEST_NOT_FOUND', `no request "${id.slice(0, 100)}" is stored`)
    return found
  }

  app.get<{ readonly Querystring: Static<typeof requestQuerySchema> }>(
    `${API}/proxy/requests`,
    {
      schema: {
        summary: 'Lists the stored requests, newest first',
        querystring: requestQuerySchema,
        response: { 200: requestsSchema },
      },
    },
    ({ query }) => {
      const filter = requestFilterFromWire(query)
      const { limit = DEFAULT_REQUESTS } = query
      const all = enabled().requests.list()
      const filtered = all.filter((request) => passes(request, filter))
      const newest = limit === 0 ? [] : filtered.slice(-limit)
      return {
        requests: newest.toReversed().map(requestToWire),
        filtered_count: filtered.length,
        total_count: all.length,
      }
    },
  )

  app.get<{ readonly Querystring: Static<typeof requestFilterSchema> }>(
    `${API}/proxy/requests/stream`,
    {
      exposeHeadRoute: false,
      schema: {
        summary: 'Streams requests as they complete',
        description: 'Server-sent events: first `connected`, then one message per request with its id.',
        querystring: requestFilterSchema,
        response: {
          200: {
            description: 'requests',
            content: { 'text/event-stream': { schema: Type.Ref('ProxyRequest') } },
          },
        },
      },
    },
    ({ query, headers }, reply) => {
      const { requests } = enabled()
      const filter = requestFilterFromWire(query)
      const after = lastEventId(headers)
      const stream = openStream(reply)
      const send = (request: CapturedRequest): void => {
        if (passes(request, filter))
          stream.sendEncoded(encodeEvent(requestToWire(request), undefined, request.id))
      }
      stream.send({}, 'connected')
      if (after !== undefined)
        requests
          .list()
          .filter(({ id }) => id > after)
          .forEach(send)
      const end = requests.onRequest(send)
      void stream.closed.then(end)
    },
  )

  app.get<Identified>(
    `${API}/proxy/requests/:id`,
    {
      schema: {
        summary: 'Returns one request with the lines its process printed meanwhile',
        params,
        response: {
          200: Type.Object({
            request: Type.Ref('ProxyRequest'),
            headers: Type.Array(Type.Array(Type.String())),
            logs: Type.Array(Type.Ref('LogEntry')),
          }),
        },
      },
    },
    async ({ params: { id } }) => {
      const request = get(id)
      const { lines } = await queryLogs(supervisor.logs, {
        processes: request.process === undefined ? [] : [request.process],
        lines: SHOWN_LINES,
        sinceMs: request.startedMs,
        untilMs: request.startedMs + request.durationMs + AFTER_MS,
      })
      return {
        request: requestToWire(request),
        headers: headersToWire(request),
        logs: lines.map(createLogEncoder()),
      }
    },
  )

  app.post<Identified>(
    `${API}/proxy/requests/:id/replay`,
    {
      schema: {
        summary: 'Sends a request again',
        description:
          'Unchanged except for headers that authenticate the sender. It is stored as a separate request.',
        params,
        response: { 200: Type.Object({ success: Type.Boolean(), status_code: Type.Integer() }) },
      },
    },
    async ({ params: { id } }) => {
      const statusCode = await replay(get(id), enabled().address)
      return { success: true, status_code: statusCode }
    },
  )
}
