import { Type } from '../../lib/schema/type.ts'
import type { SearchResults } from '../search/site-search.ts'

/** Maximum hits per response. */
const MAX_HITS = 100
/** Maximum offset. Beyond it a reader is better served by a narrower query. */
const MAX_OFFSET = 10_000

/** Hits per response by default. */
export const DEFAULT_HITS = 20

/** Query of a search. */
export const searchQuerySchema = Type.Object({
  q: Type.Optional(Type.String({ description: 'words to search for' })),
  repo: Type.Optional(Type.String({ description: 'search only this repository; default: all' })),
  version: Type.Optional(
    Type.String({ description: 'search this version or alias; default: the latest of each repository' }),
  ),
  limit: Type.Optional(
    Type.Integer({
      minimum: 1,
      maximum: MAX_HITS,
      default: DEFAULT_HITS,
      description: 'maximum number of hits',
    }),
  ),
  offset: Type.Optional(
    Type.Integer({ minimum: 0, maximum: MAX_OFFSET, default: 0, description: 'number of hits to skip' }),
  ),
})

const version = Type.Optional(Type.String())

/** Schema of the response to a search. */
export const searchResultSchema = Type.Object({
  hits: Type.Array(
    Type.Object({
      repo: Type.String(),
      version,
      url: Type.String(),
      title: Type.String(),
      excerpt: Type.String(),
      marks: Type.Array(Type.Array(Type.Integer())),
    }),
  ),
  total: Type.Integer(),
  next_offset: Type.Optional(Type.Integer()),
  complete: Type.Boolean(),
  unsearched: Type.Array(Type.Object({ repo: Type.String(), version, reason: Type.String() })),
})

/**
 * Converts the result of a search to its wire form.
 *
 * @param offset offset of the first hit
 * @param outside returns a hit's address on the host that was asked
 */
export function searchResultToWire(
  { hits, total, unsearched }: SearchResults,
  offset: number,
  outside: (url: string) => string,
): Pick<SearchResults, 'hits' | 'total' | 'unsearched'> & {
  readonly next_offset?: number
  readonly complete: boolean
} {
  const next = nextOffset(hits.length, offset, total)
  return {
    hits: hits.map((hit) => ({ ...hit, url: outside(hit.url) })),
    total,
    ...(next !== undefined && { next_offset: next }),
    complete: unsearched.length === 0,
    unsearched,
  }
}

/** Returns the offset of the next hits, or undefined if there are none within the limit. */
export function nextOffset(shown: number, offset: number, total: number): number | undefined {
  const next = offset + shown
  return shown > 0 && next < total && next <= MAX_OFFSET ? next : undefined
}
