import type { FastifyReply } from 'fastify'
import { isFault } from '../../../lib/errors/fault.ts'
import type { HttpServer } from '../../../lib/http/server.ts'
import { errorToWire, fault } from '../../errors.ts'
import { showMethod } from '../../source/show-method.ts'
import { SOURCE_FORMATS } from '../../source/java/formats.ts'
import { showSource } from '../../source/show-source.ts'
import { SHOWN_LANGUAGES } from '../../source/archive/source-text.ts'
import { VISIBILITIES } from '../../source/java/visibility.ts'
import type { AnalyzerFace } from './face.ts'
import type { QueryReader } from './query.ts'
import { addQuestion } from './question-route.ts'

export type SourceQuestion = 'source_show' | 'source_method'

/** Codes that say why there is no source. */
const REASONS = new Set([
  'CLASS_NOT_FOUND',
  'METHOD_NOT_FOUND',
  'FILE_NOT_FOUND',
  'LIBRARY_CLASS',
  'JDK_CLASS',
])
const MAX_CONTEXT_LINES = 10_000

/** The source of classes and methods. */
export function sourceRoutes(server: HttpServer, face: AnalyzerFace): void {
  addQuestion(server, face, 'source_show', (query, { name = '' }, reply) =>
    orReason(name, reply, async () => {
      const wish = {
        ...decompiling(query),
        language: query.word('lang', SHOWN_LANGUAGES),
        format: query.word('format', SOURCE_FORMATS) ?? 'full',
        visibility: query.word('visibility', VISIBILITIES) ?? 'private',
      }
      return { source: await showSource(face.source, face.analysis.scan, name, wish) }
    }),
  )

  addQuestion(server, face, 'source_method', (query, { name = '', method = '' }, reply) =>
    orReason(name, reply, async () => {
      const contextLines = query.number('context') ?? 0
      if (contextLines > MAX_CONTEXT_LINES)
        throw fault('BAD_REQUEST', `context must be at most ${MAX_CONTEXT_LINES} lines, not ${contextLines}`)
      const wish = { method, parameterTypes: query.text('paramTypes'), contextLines }
      const { scan } = face.analysis
      return { methodSource: await showMethod(face.source, scan, name, wish, decompiling(query)) }
    }),
  )
}

function decompiling(query: QueryReader) {
  const isAllowed = query.text('allowDecompilation') === undefined || query.flag('allowDecompilation')
  return { allowsDecompilation: isAllowed, isFresh: query.flag('forceRefresh') }
}

/** That there is no source is told with the class and the reason in fields of their own. */
async function orReason(fqn: string, reply: FastifyReply, answer: () => Promise<object>): Promise<object> {
  try {
    return await answer()
  } catch (error) {
    if (!isFault(error) || !REASONS.has(error.code)) throw error
    const body = errorToWire(error)
    return reply.status(body.code).send({ ...body, fqn, reason: error.code })
  }
}
