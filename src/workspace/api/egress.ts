import type { Static } from 'typebox'
import { Type } from '../../lib/schema/type.ts'
import { type EgressEntry, type SuggestedRule, suggestRules } from '../egress/request-log.ts'

const target = {
  scheme: Type.Enum(['https', 'http'] as const),
  host: Type.String({ description: 'empty if it could not be determined' }),
  port: Type.Integer(),
}

const requestSchema = Type.Object({
  at: Type.String({ format: 'date-time' }),
  method: Type.String({ description: 'empty for a connection that was refused before its request' }),
  ...target,
  path: Type.String({ description: 'without its query' }),
  outcome: Type.Enum(['allowed', 'refused', 'failed'] as const),
  reason: Type.Optional(
    Type.Enum([
      'host',
      'method',
      'path',
      'ambiguous_path',
      'request',
      'tls',
      'credential',
      'server',
    ] as const),
  ),
  status: Type.Optional(Type.Integer({ description: 'status of the response' })),
  secret: Type.Optional(Type.String({ description: 'name of the secret that the proxy added' })),
})

const suggestionSchema = Type.Object({
  ...target,
  methods: Type.Array(Type.String()),
  paths: Type.Array(Type.String(), { description: 'empty for more than 20' }),
})

/** Requests of a workspace through its egress proxy. */
export const egressSchema = Type.Object({
  profile: Type.Union([Type.String(), Type.Null()], { description: 'null for a workspace without one' }),
  open: Type.Boolean({ description: 'whether the proxy accepts connections' }),
  requests: Type.Array(requestSchema, {
    description: 'the last requests since the server started, at most 1,000, oldest first',
  }),
  suggested_rules: Type.Array(suggestionSchema, {
    description: 'rules that would have allowed the refused requests',
  }),
})

/** Requests of a workspace as clients see them. */
export type WireEgress = Static<typeof egressSchema>
/** A request as clients see it. */
export type WireEgressRequest = WireEgress['requests'][number]

/** Encodes the requests of a workspace. */
export function egressToWire(
  profile: string | undefined,
  isOpen: boolean,
  entries: readonly EgressEntry[],
): WireEgress {
  return {
    profile: profile ?? null,
    open: isOpen,
    requests: entries.map(egressRequestToWire),
    suggested_rules: suggestRules(entries).map(suggestionToWire),
  }
}

/** Encodes a request. */
export function egressRequestToWire(entry: EgressEntry): WireEgressRequest {
  const { at, method, scheme, host, port, path, outcome, reason, status, secret } = entry
  return {
    at: at.toISOString(),
    method,
    scheme,
    host,
    port,
    path,
    outcome,
    ...(reason !== undefined && { reason }),
    ...(status !== undefined && { status }),
    ...(secret !== undefined && { secret }),
  }
}

function suggestionToWire({ methods, paths, ...of }: SuggestedRule): WireEgress['suggested_rules'][number] {
  return { ...of, methods: [...methods], paths: [...paths] }
}
