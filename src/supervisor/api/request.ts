import type { Static } from 'typebox'
import { Type } from '../../lib/schema/type.ts'
import { maskQuery, maskValue } from './mask.ts'
import type { CapturedRequest, RequestFilter } from '../proxy/captured-request.ts'

const MAX_URL_LENGTH = 2_048

/** Schema of a captured request. */
export const requestSchema = Type.Object(
  {
    id: Type.String(),
    timestamp: Type.String(),
    method: Type.String(),
    url: Type.String({ description: 'path and query; after 2,048 characters, … replaces the rest' }),
    subdomain: Type.String(),
    status_code: Type.Integer({ description: '499 if the client disconnected before the response started' }),
    duration_ms: Type.Integer(),
    remote_addr: Type.String(),
    process: Type.Union([Type.String(), Type.Null()]),
    request_bytes: Type.Integer(),
    response_bytes: Type.Integer(),
    replay_of: Type.Union([Type.String(), Type.Null()]),
    held_ms: Type.Integer({ description: 'time that it waited for its process to start' }),
  },
  { $id: 'ProxyRequest' },
)

/** Schema of a response with captured requests. */
export const requestsSchema = Type.Object({
  requests: Type.Array(Type.Ref('ProxyRequest')),
  filtered_count: Type.Integer({ description: 'stored requests that match the filters' }),
  total_count: Type.Integer({ description: 'stored requests' }),
})

/** Converts a captured request to its form in a list. */
export function requestToWire(request: CapturedRequest) {
  return {
    id: String(request.id),
    timestamp: new Date(request.startedMs).toISOString(),
    method: request.method,
    url: maskQuery(request.url.slice(0, MAX_URL_LENGTH)) + (request.url.length > MAX_URL_LENGTH ? '…' : ''),
    subdomain: request.subdomain,
    status_code: request.statusCode,
    duration_ms: request.durationMs,
    remote_addr: request.remoteAddress,
    process: request.process ?? null,
    request_bytes: request.requestBytes,
    response_bytes: request.responseBytes,
    replay_of: request.replayOf === undefined ? null : String(request.replayOf),
    held_ms: request.heldMs,
  }
}

/** Converts a captured request's headers, with secrets masked. */
export function headersToWire({ headers }: CapturedRequest): readonly (readonly string[])[] {
  return headers.map(([name, value]) => [name, maskValue(name, value)])
}

/** A captured request, as clients read it. */
export type WireRequest = ReturnType<typeof requestToWire>

/** Requests of a response by default. */
export const DEFAULT_REQUESTS = 100

const status = (description: string) =>
  Type.Optional(Type.Integer({ minimum: 100, maximum: 999, description }))
const filters = {
  subdomain: Type.Optional(Type.String({ description: 'only requests to this subdomain; default: all' })),
  method: Type.Optional(Type.String({ description: 'only requests with this method; default: all' })),
  min_status: status('only responses with at least this status'),
  max_status: status('only responses with at most this status'),
}

/** Query that selects requests. */
export const requestFilterSchema = Type.Object(filters)

/** Query for stored requests. */
export const requestQuerySchema = Type.Object({
  ...filters,
  limit: Type.Optional(
    Type.Integer({
      minimum: 0,
      maximum: 1_000,
      'x-clamped': true,
      default: DEFAULT_REQUESTS,
      description: 'maximum number of requests',
    }),
  ),
})

/** Decodes the selection of requests; empty texts select all. */
export function requestFilterFromWire(query: Static<typeof requestFilterSchema>): RequestFilter {
  return {
    subdomain: query.subdomain || undefined,
    method: query.method || undefined,
    minStatus: query.min_status,
    maxStatus: query.max_status,
  }
}
