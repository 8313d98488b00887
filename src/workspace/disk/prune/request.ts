import { parseDuration } from '../../../lib/config/duration.ts'
import { parseSize } from '../../../lib/config/size.ts'
import { fault } from '../../errors.ts'

/** Scopes of a prune. */
export const PRUNE_SCOPES = ['images', 'instances', 'orphans', 'logs'] as const
/** A scope of a prune. */
export type PruneScope = (typeof PRUNE_SCOPES)[number]

/** Scopes by default: logs are truncated only on request. */
export const DEFAULT_SCOPES: readonly PruneScope[] = ['images', 'instances', 'orphans']
const DEFAULT_UNTIL_MS = 72 * 3_600_000
/** Default size to which logs are truncated. */
export const DEFAULT_LOG_TAIL_BYTES = 5 * 2 ** 20
/** Largest size to which logs are truncated. */
export const MAX_LOG_TAIL_BYTES = 2 ** 40

/** How much of a file system should be free. */
export type KeepFree =
  { readonly is: 'share'; readonly percent: number } | { readonly is: 'bytes'; readonly bytes: number }

/** Scopes and filters of a prune. */
export interface PruneRequest {
  readonly scopes: readonly PruneScope[]
  /** Minimum time since a stopped workspace last changed; 0 for any. */
  readonly untilMs: number
  readonly logTailBytes: number
  /** When absent, every qualifying item is deleted; else only the oldest, until this much is free. */
  readonly keepFree?: KeepFree | undefined
}

/** Parses the minimum age. @throws INVALID_REQUEST when it is not a duration */
export function parseUntil(value: string | undefined): number {
  if (value === undefined) return DEFAULT_UNTIL_MS
  const ms = value === '0' ? 0 : parseDuration(value)
  if (ms === undefined) throw invalid('until', value, 'must be a duration such as 72h, 90m or 0s')
  return ms
}

/** Parses the space to keep free. @throws INVALID_REQUEST when it is neither a share nor a size */
export function parseKeepFree(value: string | undefined): KeepFree | undefined {
  if (value === undefined) return undefined
  const percent = /^(\d{1,2}(?:\.\d+)?)%$/.exec(value)?.[1]
  if (percent !== undefined) return { is: 'share', percent: Number(percent) }
  const bytes = parseSize(value)
  if (bytes === undefined)
    throw invalid('keep_free', value, 'must be a share such as 20% or a size such as 50GiB')
  return { is: 'bytes', bytes }
}

function invalid(name: string, value: string, must: string) {
  return fault('INVALID_REQUEST', `${name} ${JSON.stringify(value.slice(0, 80))} ${must}`)
}
