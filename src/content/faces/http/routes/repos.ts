import type { HttpServer } from '../../../../lib/http/server.ts'
import { Type } from '../../../../lib/schema/type.ts'
import { fault } from '../../../errors.ts'
import { formatMeta } from '../../../repo/meta.ts'
import type { ContentFace } from '../face.ts'

const errors = { '4xx': Type.Ref('Error'), '5xx': Type.Ref('Error') }
const DEFAULT_HITS = 20
const MAX_HITS = 100

type Query = Readonly<Record<string, string | readonly string[] | undefined>>

/** The repositories, and a search in their pages. */
export function repoRoutes({ app }: HttpServer, { repos, search, hosts }: ContentFace): void {
  app.get(
    '/_api/repos',
    {
      schema: {
        summary: 'All repositories',
        response: { 200: Type.Array(Type.Ref('Repo')), ...errors },
      },
    },
    async (_request, reply) => {
      void reply.header('cache-control', 'private, no-cache')
      return [...(await repos.read()).values()].map(formatMeta)
    },
  )

  app.get<{ readonly Querystring: Query }>(
    '/_api/search',
    {
      config: { isOnRepoHosts: true },
      schema: {
        summary: 'The pages that fit words best',
        description: "A repository's own host searches that repository alone.",
        querystring: {
          type: 'object',
          properties: {
            q: { description: 'the words' },
            repo: { description: 'only in this repository; default all' },
            limit: { description: `at most so many, up to ${MAX_HITS}; default ${DEFAULT_HITS}` },
          },
        },
        response: {
          200: Type.Object({
            hits: Type.Array(
              Type.Object({
                repo: Type.String(),
                url: Type.String(),
                title: Type.String(),
                excerpt: Type.String(),
              }),
            ),
            complete: Type.Boolean(),
          }),
          ...errors,
        },
      },
    },
    async ({ query, repo, headers: { host = '' } }, reply) => {
      const only = textOf(query, 'repo')
      if (repo !== undefined && only !== undefined && only !== repo)
        throw fault('INVALID_QUERY', '"repo" must be left out here: this host has one repository')
      const { hits, isComplete } = await search.find(
        textOf(query, 'q') ?? '',
        limitOf(textOf(query, 'limit')),
        repo ?? only,
      )
      void reply.header('cache-control', 'private, no-cache')
      return {
        hits: hits.map((hit) => ({ ...hit, url: hosts.outside(host, hit.url) })),
        complete: isComplete,
      }
    },
  )
}

function textOf(query: Query, name: string): string | undefined {
  const value = query[name]
  if (value === undefined || typeof value === 'string') return value
  throw fault('INVALID_QUERY', `"${name}" is given more than once`)
}

function limitOf(text: string | undefined): number {
  if (text === undefined) return DEFAULT_HITS
  if (/^\d{1,4}$/.test(text) && Number(text) >= 1 && Number(text) <= MAX_HITS) return Number(text)
  throw fault('INVALID_QUERY', `"limit" must be a whole number from 1 to ${MAX_HITS}`)
}
