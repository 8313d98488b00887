import type { Static } from 'typebox'
import { Type } from '../../lib/schema/type.ts'
import type { PageList } from '../search/site-search.ts'

/** Pages per response by default. */
export const DEFAULT_PAGES = 100
const MAX_PAGES = 1_000
const MAX_OFFSET = 10_000_000

/** Query for the pages of a repository. */
export const pagesQuerySchema = Type.Object({
  repo: Type.Optional(
    Type.String({ description: "name of the repository; on its separate host, that host's by default" }),
  ),
  version: Type.Optional(Type.String({ description: 'version or alias; default: the latest' })),
  limit: Type.Optional(
    Type.Integer({
      minimum: 1,
      maximum: MAX_PAGES,
      default: DEFAULT_PAGES,
      description: 'maximum number of pages',
    }),
  ),
  offset: Type.Optional(
    Type.Integer({ minimum: 0, maximum: MAX_OFFSET, default: 0, description: 'number of pages to skip' }),
  ),
})

/** Decoded query for the pages of a repository. */
export type PagesQuery = Static<typeof pagesQuerySchema>

/** Schema of the pages of a repository. */
export const pagesSchema = Type.Object({
  repo: Type.String(),
  version: Type.Optional(Type.String()),
  pages: Type.Array(Type.Object({ path: Type.String(), url: Type.String(), title: Type.String() })),
  total: Type.Integer(),
  next_offset: Type.Optional(Type.Integer()),
  reason: Type.Optional(Type.String()),
})

/** Query for a page. */
export const pageQuerySchema = Type.Object({
  path: Type.String({
    minLength: 1,
    maxLength: 4_000,
    description: 'path of the page on the common host, as in results of the search',
  }),
})

/** Schema of a page as Markdown. */
export const pageSchema = Type.Object({
  /** After redirects. */
  path: Type.String(),
  markdown: Type.String(),
})

/** A page as Markdown. */
export type Page = Static<typeof pageSchema>

/**
 * Converts a list of pages to its wire form.
 *
 * @param offset offset of the first page
 * @param urlOf returns the address of a page on the host that was asked
 */
export function pagesToWire(
  repo: string,
  { version, pages, total, problem }: PageList,
  offset: number,
  urlOf: (path: string) => string,
) {
  const next = offset + pages.length
  return {
    repo,
    ...(version !== undefined && { version }),
    pages: pages.map(({ path, title }) => ({ path, url: urlOf(path), title })),
    total,
    ...(pages.length > 0 && next < total && { next_offset: next }),
    ...(problem !== undefined && { reason: problem }),
  }
}
