import { fault } from '../../errors.ts'
import { MAX_HITS, MAX_OFFSET } from '../../api/search.ts'
import type { SearchQuery } from '../../search/site-search.ts'

/** Query parameters of a request. */
export type QueryString = Readonly<Record<string, string | readonly string[] | undefined>>

const DEFAULT_HITS = 20

/**
 * Parses a search.
 *
 * @param only the repository whose host is asked
 * @throws INVALID_QUERY when a parameter is invalid
 */
export function parseSearchQuery(query: QueryString, only: string | undefined): SearchQuery {
  const repo = textOf(query, 'repo')
  if (only !== undefined && repo !== undefined && repo !== only)
    throw fault('INVALID_QUERY', '"repo" must not be given here: this host has only one repository')
  return {
    words: textOf(query, 'q') ?? '',
    repo: only ?? repo,
    version: textOf(query, 'version'),
    limit: numberOf(query, 'limit', 1, MAX_HITS) ?? DEFAULT_HITS,
    offset: numberOf(query, 'offset', 0, MAX_OFFSET) ?? 0,
  }
}

function textOf(query: QueryString, name: string): string | undefined {
  const value = query[name]
  if (typeof value === 'object') throw fault('INVALID_QUERY', `"${name}" must not be given more than once`)
  return value === '' ? undefined : value
}

function numberOf(query: QueryString, name: string, least: number, most: number): number | undefined {
  const text = textOf(query, name)
  if (text === undefined) return undefined
  if (/^\d{1,6}$/.test(text) && Number(text) >= least && Number(text) <= most) return Number(text)
  throw fault('INVALID_QUERY', `"${name}" must be a whole number from ${least} to ${most}`)
}
