import type { FastifyInstance } from 'fastify'
import type { Fault } from '../errors/fault.ts'
import { isTooDeep, MAX_JSON_DEPTH } from '../schema/json-depth.ts'
import { httpFault } from './faults.ts'

/**
 * Accepts only JSON bodies. A form or plain text, which a page of another site could post, is refused by its media
 * type (threat H2), `__proto__` keys (H9) and nesting beyond 64 levels (H5) by the parser.
 */
export function acceptOnlyJson(app: FastifyInstance): void {
  const parseJson = app.getDefaultJsonParser('error', 'error')
  app.removeAllContentTypeParsers()
  app.addContentTypeParser('application/json', { parseAs: 'string' }, (request, body, done) => {
    const text = body.toString()
    if (text === '') return done(null)
    const tooDeep = depthFault(text)
    if (tooDeep !== undefined) return done(tooDeep)
    // Fastify's own parser reports through `done`, not through a promise.
    void parseJson(request, text, done)
  })
}

/** Returns an error for JSON text that is nested too deeply (threat H5). */
export function depthFault(text: string): Fault | undefined {
  if (!isTooDeep(text)) return undefined
  return httpFault('INVALID_REQUEST', `the JSON body is nested deeper than ${MAX_JSON_DEPTH} levels`)
}
