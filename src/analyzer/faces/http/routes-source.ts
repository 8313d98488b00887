import type { FastifyReply } from 'fastify'
import { isFault } from '../../../lib/errors/fault.ts'
import type { HttpServer } from '../../../lib/http/server.ts'
import { errorToWire } from '../../errors.ts'
import { showMethod } from '../../source/show-method.ts'
import { SOURCE_FORMATS } from '../../source/java/source-format.ts'
import { showSource } from '../../source/show-source.ts'
import { SHOWN_LANGUAGES } from '../../source/archive/source-text.ts'
import { VISIBILITIES } from '../../source/java/visibility.ts'
import type { AnalyzerFace } from './face.ts'
import type { QueryParameters } from './query-parameters.ts'
import { addQueryRoute } from './query-route.ts'

/** Queries answered from source text instead of the index. */
export type SourceQuery = 'source_show' | 'source_method'

/** Codes that explain why there is no source. */
const REASONS = new Set([
  'CLASS_NOT_FOUND',
  'METHOD_NOT_FOUND',
  'FILE_NOT_FOUND',
  'LIBRARY_CLASS',
  'JDK_CLASS',
])

/** Adds the routes for the source of classes and methods. */
export function sourceRoutes(server: HttpServer, face: AnalyzerFace): void {
  addQueryRoute(server, face, 'source_show', (query, { name = '' }, reply) =>
    withReason(name, reply, async () => {
      const options = {
        ...decompiling(query),
        language: query.word('lang', SHOWN_LANGUAGES),
        format: query.word('format', SOURCE_FORMATS) ?? 'full',
        visibility: query.word('visibility', VISIBILITIES) ?? 'private',
      }
      return { source: await showSource(face.source, face.analysis.scan, name, options) }
    }),
  )

  addQueryRoute(server, face, 'source_method', (query, { name = '', method = '' }, reply) =>
    withReason(name, reply, async () => {
      const contextLines = query.number('context') ?? 0
      const options = { method, parameterTypes: query.text('paramTypes'), contextLines }
      const { scan } = face.analysis
      return { methodSource: await showMethod(face.source, scan, name, options, decompiling(query)) }
    }),
  )
}

function decompiling(query: QueryParameters) {
  return { allowsDecompilation: query.flag('allowDecompilation', true), isFresh: query.flag('forceRefresh') }
}

/** Adds the class and the reason to the error body when there is no source. */
async function withReason(fqn: string, reply: FastifyReply, answer: () => Promise<object>): Promise<object> {
  try {
    return await answer()
  } catch (error) {
    if (!isFault(error) || !REASONS.has(error.code)) throw error
    const body = errorToWire(error)
    return reply.status(body.code).send({ ...body, fqn, reason: error.code })
  }
}
