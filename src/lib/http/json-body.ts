import type { FastifyInstance } from 'fastify'
import type { Fault } from '../errors/fault.ts'
import { httpFault } from './faults.ts'

const MAX_DEPTH = 64
const [QUOTE, BACKSLASH] = [0x22, 0x5c]
const [OPEN_OBJECT, CLOSE_OBJECT, OPEN_LIST, CLOSE_LIST] = [0x7b, 0x7d, 0x5b, 0x5d]

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
  if (depthOf(text) <= MAX_DEPTH) return undefined
  return httpFault('INVALID_REQUEST', `the JSON body is nested deeper than ${MAX_DEPTH} levels`)
}

function depthOf(text: string): number {
  if (!hasManyOpenings(text)) return 0
  let depth = 0
  let deepest = 0
  let inString = false
  for (let i = 0; i < text.length; i++) {
    const char = text.charCodeAt(i)
    if (inString) {
      if (char === BACKSLASH) i++
      else if (char === QUOTE) inString = false
    } else if (char === QUOTE) inString = true
    else if (char === OPEN_OBJECT || char === OPEN_LIST) deepest = Math.max(deepest, ++depth)
    else if (char === CLOSE_OBJECT || char === CLOSE_LIST) depth--
  }
  return deepest
}

/** Whether the text has more opening brackets than the maximum depth: a cheap check that most bodies pass. */
function hasManyOpenings(text: string): boolean {
  let openings = 0
  for (const char of '{[')
    for (let at = text.indexOf(char); at !== -1; at = text.indexOf(char, at + 1))
      if (++openings > MAX_DEPTH) return true
  return false
}
