import { parse } from 'node:querystring'
import type { FastifyRequest } from 'fastify'
import { decodeUrlPart } from '../../path-text.ts'

/**
 * A hook before validation that decodes the query's `path` again, because the router's parser keeps only UTF-8. The result
 * is a text as `path-text.ts` describes.
 */
export function keepPathBytes({ query, raw }: FastifyRequest, _reply: unknown, next: () => void): void {
  const given = query as { path?: unknown }
  if (typeof given.path === 'string') {
    // The router's query begins at the first of both.
    const text = raw.url?.replace(/^[^?#]*[?#]?/, '') ?? ''
    given.path = parse(text, '&', '=', { maxKeys: 0, decodeURIComponent: decodeUrlPart })['path']
  }
  next()
}
