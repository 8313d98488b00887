import type { Decoded } from '../../../lib/config/decode.ts'
import { duration, optionalText, section } from '../../../lib/config/fields.ts'
import { Type } from '../../../lib/schema/type.ts'
import { DEFAULT_LOG_TAIL_BYTES, parseKeepFree, PRUNE_SCOPES, type PruneRequest } from './request.ts'

/** Config section `prune`. */
export const pruneSection = section({
  every: duration('0s', 'interval of scheduled prunes; 0s: never'),
  scope: Type.Array(Type.Enum(PRUNE_SCOPES), {
    default: ['images', 'orphans'],
    description: 'scopes of scheduled prunes: images, instances, orphans, logs',
  }),
  until: duration('72h', 'minimum time since a workspace was stopped before a scheduled prune deletes it'),
  keep_free: optionalText(
    'scheduled prunes delete the oldest items until this much of the disk is free, such as 20% or 50GiB; without it they delete everything that qualifies',
  ),
})

/** Resolves the section. @throws INVALID_REQUEST when keep_free is not valid */
export function pruneSchedule({ everyMs, scope, untilMs, keepFree }: Decoded<typeof pruneSection>): {
  /** Interval between prunes; 0 disables them. */
  readonly everyMs: number
  readonly request: PruneRequest
} {
  const request = {
    scopes: scope,
    untilMs,
    logTailBytes: DEFAULT_LOG_TAIL_BYTES,
    keepFree: parseKeepFree(keepFree),
  }
  return { everyMs, request }
}
