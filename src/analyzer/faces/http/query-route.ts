import type { FastifyReply, FastifyRequest } from 'fastify'
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
  const { path, summary, parameters } = queryNamed(name)
  const options = {
    schema: { summary, querystring: { type: 'object', properties: parameters } },
    // The schema only documents the route: QueryParameters reports errors more clearly than a validator.
    validatorCompiler: () => () => true,
  }
  app.get(`/api/v1${path}`, options, (request: FastifyRequest, reply) => {
    idle.touch()
    const query = new QueryParameters(request, Object.keys(parameters))
    return answer(query, request.params as PathParameters, reply)
  })
}
