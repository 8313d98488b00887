import type { FastifyInstance } from 'fastify'
import type { Fault } from '../errors/fault.ts'
import { httpFault } from './faults.ts'

const MAX_DEPTH = 64

/**
 * Only JSON bodies are read. A form or plain text, which a page of another site could post, is refused by its media
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
    // Fastify's own parser answers through `done`, never by a promise.
    void parseJson(request, text, done)
  })
}

/** What is wrong with a text of JSON that is nested too deep (threat H5). */
export function depthFault(text: string): Fault | undefined {
  if (depthOf(text) <= MAX_DEPTH) return undefined
  return httpFault('INVALID_REQUEST', `the JSON body is nested deeper than ${MAX_DEPTH} levels`)
}

function depthOf(text: string): number {
  let depth = 0
  let deepest = 0
  let inString = false
  for (let i = 0; i < text.length; i++) {
    const char = text[i]
    if (inString) {
      if (char === '\\') i++
      else if (char === '"') inString = false
    } else if (char === '"') inString = true
    else if (char === '{' || char === '[') deepest = Math.max(deepest, ++depth)
    else if (char === '}' || char === ']') depth--
  }
  return deepest
}
