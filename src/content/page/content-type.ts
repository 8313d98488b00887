import mime from 'mime'
import type { CachedObject, Sendable } from '../cache/object-cache.ts'

const TEXT = /^(?:text\/|application\/(?:javascript|json|xml|[\w.+-]+\+(?:json|xml)|wasm)|image\/svg)/
const WITH_CHARSET = /^(?:text\/|application\/(?:javascript|json|xml|[\w.+-]+\+(?:json|xml))|image\/svg)/
/** Types that uploaders use when they do not know the type. */
const UNKNOWN = /^(?:application|binary)\/octet-stream$/

/** Returns an object's media type with its charset: as stored, else by its name. */
export function contentTypeOf(key: string, said?: string): string {
  if (said !== undefined && said !== '' && !UNKNOWN.test(said)) return withCharset(said)
  return withCharset(mime.getType(key) ?? 'application/octet-stream')
}

/** Whether an object is an HTML page in UTF-8 in memory, stored without compression. */
export function isHtmlPage(object: Sendable): object is CachedObject {
  const { info, published } = object
  const { key, contentType, contentEncoding = '' } = info
  // The store has the type of the path under which the content was first published.
  const type = published === undefined ? contentTypeOf(key, contentType) : contentTypeOf(published.path)
  return object.is === 'cached' && contentEncoding === '' && /^text\/html;\s*charset=utf-8$/i.test(type)
}

/** Whether compressing helps. */
export function isText(contentType: string): boolean {
  return TEXT.test(contentType)
}

function withCharset(type: string): string {
  return WITH_CHARSET.test(type) && !/;\s*charset=/i.test(type) ? `${type}; charset=utf-8` : type
}
