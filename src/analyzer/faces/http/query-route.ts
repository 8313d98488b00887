import type { FastifyReply, FastifyRequest } from 'fastify'
import { isLargeJson, jsonStream } from '../../../lib/http/json-chunks.ts'
import type { HttpServer } from '../../../lib/http/server.ts'
import { type QueryName, queryNamed } from '../../api/queries.ts'
import type { AnalyzerFace } from './face.ts'
import { QueryParameters } from './query-parameters.ts'

/** Parameters in a request's path. */
export type PathParameters = Readonly<Record<string, string | undefined>>

/** Adds the route of one query. */
export function addQueryRoute(
  { app }: HttpServer,
  { idle }: AnalyzerFace,
  name: QueryName,
  answer: (query: QueryParameters, path: PathParameters, reply: FastifyReply) => unknown,
): void {
  const { path, summary, parameters, required = [], mediaTypes = [] } = queryNamed(name)
  const content = Object.fromEntries(
    ['application/json', ...mediaTypes].map((type) => [type, { schema: {} }]),
  )
  const options = {
    schema: {
      summary,
      querystring: { type: 'object', properties: parameters, required, additionalProperties: false },
      response: { 200: { description: 'Success', content } },
    },
  }
  app.get(`/api/v1${path}`, options, async (request: FastifyRequest, reply) => {
    idle.touch()
    const query = new QueryParameters(request.query)
    const value = await answer(query, request.params as PathParameters, reply)
    if (value === reply || !isLargeJson(value)) return value
    return reply.type('application/json; charset=utf-8').send(jsonStream(value))
  })
}
