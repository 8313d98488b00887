import type { Static } from 'typebox'
import { Type } from '../../lib/schema/type.ts'
import type { CompactReport } from '../disk/compactor.ts'
import type { PruneReport } from '../disk/prune/pruner.ts'
import {
  DEFAULT_LOG_TAIL_BYTES,
  DEFAULT_SCOPES,
  MAX_LOG_TAIL_BYTES,
  parseKeepFree,
  parseUntil,
  PRUNE_SCOPES,
  type PruneRequest,
} from '../disk/prune/request.ts'
import { goDuration } from '../disk/short-duration.ts'
import { bytesSchema, bytesToWire } from './bytes.ts'
import { STRICT } from './parameters.ts'

/** Query for pruning. */
export const systemPruneQuerySchema = Type.Object(
  {
    scope: Type.Optional(
      Type.Array(Type.Enum(PRUNE_SCOPES), { description: 'repeatable; default all but logs' }),
    ),
    dry_run: Type.Optional(Type.Boolean({ description: 'delete nothing and return a plan; default false' })),
    until: Type.Optional(
      Type.String({ description: 'minimum time since a workspace was stopped; default 72h, 0s for any' }),
    ),
    log_tail_bytes: Type.Optional(
      Type.Integer({
        minimum: 0,
        maximum: MAX_LOG_TAIL_BYTES,
        description: 'bytes to keep of each log; default 5 MiB',
      }),
    ),
    keep_free: Type.Optional(
      Type.String({ description: 'delete the oldest first until this much is free: 20%, 50GiB' }),
    ),
    plan_id: Type.Optional(
      Type.String({
        description: "apply this plan and nothing else; other parameters must equal the plan's",
      }),
    ),
  },
  STRICT,
)
/** The decoded query for pruning. */
export type SystemPruneQuery = Static<typeof systemPruneQuerySchema>

const skippedSchema = Type.Object({
  kind: Type.String(),
  name: Type.String(),
  path: Type.String(),
  reason: Type.String(),
})

/** The result of pruning, or a plan. */
export const pruneReportSchema = Type.Object({
  dry_run: Type.Boolean(),
  server_name: Type.String(),
  plan_id: Type.String(),
  scope: Type.Array(Type.String()),
  until: Type.String(),
  items: Type.Array(
    Type.Object({
      kind: Type.String({ description: 'instance, image, tmp, snapshot, checkpoint, upper, log or trash' }),
      name: Type.String(),
      path: Type.String(),
      backend: Type.String(),
      action: Type.Enum(['would_delete', 'deleted', 'truncated', 'failed']),
      freed: bytesSchema,
      reason: Type.String(),
      error: Type.Optional(Type.String()),
    }),
  ),
  skipped: Type.Array(skippedSchema),
  notes: Type.Array(Type.String()),
  totals: Type.Object({ freed: bytesSchema, items: Type.Integer() }),
})
/** A prune report as clients see it. */
export type WirePruneReport = Static<typeof pruneReportSchema>

/** Decodes a prune request. @throws INVALID_REQUEST when a value is invalid */
export function pruneRequestFromWire(query: SystemPruneQuery): PruneRequest {
  const { scope: scopes = DEFAULT_SCOPES, until, keep_free: keepFree } = query
  return {
    scopes: PRUNE_SCOPES.filter((scope) => scopes.includes(scope)),
    untilMs: parseUntil(until),
    logTailBytes: query.log_tail_bytes ?? DEFAULT_LOG_TAIL_BYTES,
    keepFree: parseKeepFree(keepFree),
  }
}

/** Decodes only the parameters present in the query, without defaults. @throws INVALID_REQUEST when a value is invalid */
export function repeatedFromWire(query: SystemPruneQuery): Partial<PruneRequest> {
  const { scopes, untilMs, logTailBytes, keepFree } = pruneRequestFromWire(query)
  return {
    ...(query.scope !== undefined && { scopes }),
    ...(query.until !== undefined && { untilMs }),
    ...(query.log_tail_bytes !== undefined && { logTailBytes }),
    ...(query.keep_free !== undefined && { keepFree }),
  }
}

/** Encodes a prune report. */
export function pruneReportToWire(serverName: string, report: PruneReport): WirePruneReport {
  const { isDryRun, planId, request, items, skipped, notes, freed } = report
  return {
    dry_run: isDryRun,
    server_name: serverName,
    plan_id: planId,
    scope: [...request.scopes],
    until: goDuration(request.untilMs),
    items: items.map(({ kind, name, path, backend, action, freed: each, reason, error }) => ({
      kind,
      name,
      path,
      backend,
      action,
      freed: bytesToWire(each),
      reason,
      ...(error !== '' && { error }),
    })),
    skipped: [...skipped],
    notes: [...notes],
    totals: { freed: bytesToWire(freed), items: items.filter(({ action }) => action !== 'failed').length },
  }
}

/** Query for compacting. */
export const compactQuerySchema = Type.Object(
  { name: Type.Optional(Type.Array(Type.String(), { description: 'workspace; repeatable, default all' })) },
  STRICT,
)

/** The result of compacting. */
export const compactReportSchema = Type.Object({
  server_name: Type.String(),
  items: Type.Array(
    Type.Object({
      name: Type.String(),
      path: Type.String(),
      backend: Type.String(),
      freed: bytesSchema,
      error: Type.Optional(Type.String()),
    }),
  ),
  skipped: Type.Array(skippedSchema),
  totals: Type.Object({ freed: bytesSchema, items: Type.Integer() }),
})
/** A compact report as clients see it. */
export type WireCompactReport = Static<typeof compactReportSchema>

/** Encodes a compact report. */
export function compactReportToWire(
  serverName: string,
  { items, skipped, freed }: CompactReport,
): WireCompactReport {
  return {
    server_name: serverName,
    items: items.map(({ name, path, backend, freed: each, error }) => ({
      name,
      path,
      backend,
      freed: bytesToWire(each),
      ...(error !== '' && { error }),
    })),
    skipped: [...skipped],
    totals: { freed: bytesToWire(freed), items: items.filter(({ error }) => error === '').length },
  }
}
