import type { Decoded } from '../../../lib/config/decode.ts'
import { duration, optionalText, section } from '../../../lib/config/fields.ts'
import { Type } from '../../../lib/schema/type.ts'
import { DEFAULT_LOG_TAIL_BYTES, parseKeepFree, PRUNE_SCOPES, type PruneRequest } from './request.ts'

/** What the configuration says of pruning. */
export const pruneSection = section({
  every: duration('0s', 'the server prunes by itself this often; 0s: never'),
  scope: Type.Array(Type.Enum(PRUNE_SCOPES), {
    default: ['images', 'orphans'],
    description: 'what it prunes by itself then: images, instances, orphans, logs',
  }),
  until: duration('72h', 'how long a workspace must have been stopped until the server prunes it by itself'),
  keep_free: optionalText(
    'the server prunes by itself, the oldest first, until so much of the disk is free, such as 20% or 50GiB; without it all that can go',
  ),
})

/** @throws INVALID_REQUEST */
export function pruneSchedule({ everyMs, scope, untilMs, keepFree }: Decoded<typeof pruneSection>): {
  /** 0: never. */
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
