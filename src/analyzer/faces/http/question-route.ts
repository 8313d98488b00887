import type { FastifyReply, FastifyRequest } from 'fastify'
import type { HttpServer } from '../../../lib/http/server.ts'
import { type QuestionName, questionNamed } from '../../api/questions.ts'
import type { AnalyzerFace } from './face.ts'
import { QueryReader } from './query.ts'

export type PathParameters = Readonly<Record<string, string | undefined>>

/** Adds the route of one question of the table. */
export function addQuestion(
  { app }: HttpServer,
  { idle }: AnalyzerFace,
  name: QuestionName,
  answer: (query: QueryReader, path: PathParameters, reply: FastifyReply) => unknown,
): void {
  const { path, summary, parameters } = questionNamed(name)
  const options = {
    schema: { summary, querystring: { type: 'object', properties: parameters } },
    // The schema is for the description: the reader's sentences say more than a validator's.
    validatorCompiler: () => () => true,
  }
  app.get(`/api/v1${path}`, options, (request: FastifyRequest, reply) => {
    idle.touch()
    const query = new QueryReader(request, Object.keys(parameters))
    return answer(query, request.params as PathParameters, reply)
  })
}
