import type { Static } from 'typebox'
import type { Fault } from '../../../lib/errors/fault.ts'
import { decodeQuery, type RawQuery } from '../../../lib/http/query.ts'
import { DEFAULT_HITS, searchQuerySchema } from '../../api/search.ts'
import { fault } from '../../errors.ts'
import type { SearchQuery } from '../../search/site-search.ts'

/** Decoded query of a search. */
export type SearchParameters = Static<typeof searchQuerySchema>

/** Returns the error of an invalid query. */
export function invalidQuery(message: string): Fault {
  return fault('INVALID_QUERY', message)
}

/**
 * Returns the search for decoded parameters; empty ones count as absent.
 *
 * @param only the repository whose host is asked
 * @throws INVALID_QUERY when another repository is given there
 */
export function searchQueryOf(parameters: SearchParameters, only: string | undefined): SearchQuery {
  const { q = '', limit = DEFAULT_HITS, offset = 0 } = parameters
  return {
    words: q,
    repo: askedRepo(parameters.repo, only),
    version: parameters.version || undefined,
    limit,
    offset,
  }
}

/**
 * Returns the repository that a query asks for; undefined if it names none.
 *
 * @param only the repository whose host is asked
 * @throws INVALID_QUERY when another repository is given there
 */
export function askedRepo(repo: string | undefined, only: string | undefined): string | undefined {
  if (only !== undefined && repo !== undefined && repo !== '' && repo !== only)
    throw invalidQuery('"repo" must not be given here: this host has only one repository')
  return only ?? (repo || undefined)
}

/** Decodes a search in the query of a page. @throws INVALID_QUERY when a parameter is invalid */
export function searchParametersOf(query: RawQuery): SearchParameters {
  const decoded = decodeQuery(searchQuerySchema, query)
  if ('wrong' in decoded) throw invalidQuery(decoded.wrong)
  return decoded.value as SearchParameters
}
