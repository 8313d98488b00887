import type { HttpServer } from '../../../../lib/http/server.ts'
import { Type } from '../../../../lib/schema/type.ts'
import { searchQuerySchema, searchResultSchema, searchResultToWire } from '../../../api/search.ts'
import { visibleRepos } from '../../../access/grants.ts'
import {
  DEFAULT_PAGES,
  type PagesQuery,
  pagesQuerySchema,
  pagesSchema,
  pagesToWire,
} from '../../../api/pages.ts'
import { versionsQuerySchema, versionsSchema } from '../../../api/repo.ts'
import { fault } from '../../../errors.ts'
import { formatPath } from '../../../page/request-path.ts'
import { formatMeta } from '../../../repo/meta.ts'
import { namedVersions } from '../../../repo/versions.ts'
import { readerOf } from '../admission.ts'
import type { ContentFace } from '../face.ts'
import { askedRepo, searchQueryOf, type SearchParameters } from '../search-query.ts'

/** Adds the routes for the list of repositories and for search. */
export function repoRoutes({ app }: HttpServer, { repos, search, hosts }: ContentFace): void {
  app.get(
    '/_api/repos',
    {
      config: { acceptsTokens: true },
      schema: {
        summary: 'List the repositories that the reader may read',
        response: { 200: Type.Array(Type.Ref('Repo')) },
      },
    },
    async (request, reply) => {
      void reply.header('cache-control', 'private, no-cache')
      return [...visibleRepos(await repos.read(), readerOf(request).grants).values()].map(formatMeta)
    },
  )

  app.get<{ readonly Querystring: { readonly repo?: string } }>(
    '/_api/versions',
    {
      config: { isOnRepoHosts: true, acceptsTokens: true, isOfRepo: true },
      schema: {
        summary: 'List the versions of a repository with their aliases',
        querystring: versionsQuerySchema,
        response: { 200: versionsSchema },
      },
    },
    async (request, reply) => {
      const { host = '' } = request.headers
      const name = askedRepo(request.query.repo, request.repo) ?? ''
      const repo = visibleRepos(await repos.read(), readerOf(request).grants).get(name)
      if (repo === undefined) throw noRepo(name)
      void reply.header('cache-control', 'private, no-cache')
      return {
        repo: name,
        ...(repo.latest !== undefined && { latest: repo.latest }),
        versions: namedVersions(repo).map((each) => ({
          ...each,
          url: hosts.outside(host, formatPath(['repos', name, each.version], true)),
        })),
      }
    },
  )

  app.get<{ readonly Querystring: PagesQuery }>(
    '/_api/pages',
    {
      config: { isOnRepoHosts: true, acceptsTokens: true, isOfRepo: true },
      schema: {
        summary: 'List the pages of a repository with their titles',
        querystring: pagesQuerySchema,
        response: { 200: pagesSchema },
      },
    },
    async (request, reply) => {
      const { version, limit = DEFAULT_PAGES, offset = 0 } = request.query
      const name = askedRepo(request.query.repo, request.repo) ?? ''
      const asked = { repo: name, version: version || undefined, limit, offset }
      const list = await search.list(asked, readerOf(request).grants)
      if (list === undefined) throw noRepo(name, asked.version)
      void reply.header('cache-control', 'private, no-cache')
      return pagesToWire(name, list, offset, (path) =>
        hosts.outside(request.headers.host ?? '', formatPath([...list.folder, ...path.split('/')], false)),
      )
    },
  )

  app.get<{ readonly Querystring: SearchParameters }>(
    '/_api/search',
    {
      config: { isOnRepoHosts: true, acceptsTokens: true },
      schema: {
        summary: 'Search for pages',
        description:
          "Excerpts are plain text; marks are the positions of the matches, in UTF-16 code units. A repository's own host searches only that repository.",
        querystring: searchQuerySchema,
        response: { 200: searchResultSchema },
      },
    },
    async (request, reply) => {
      const { host = '' } = request.headers
      const asked = searchQueryOf(request.query, request.repo)
      const found = await search.find(asked, readerOf(request).grants)
      void reply.header('cache-control', 'private, no-cache')
      return searchResultToWire(found, asked.offset, (url) => hosts.outside(host, url))
    },
  )
}

function noRepo(name: string, version?: string): Error {
  const asked = version === undefined ? '' : ` and the version ${JSON.stringify(version.slice(0, 200))}`
  return fault('PAGE_NOT_FOUND', `no repository has the name ${JSON.stringify(name.slice(0, 200))}${asked}`)
}
