import mime from 'mime'
import { type CachedObject, DECODED_BYTES, type Sendable } from '../cache/object-cache.ts'
import { charsetOf, encodingOf, labelOf, withCharset } from './charset.ts'

const TEXT = /^(?:text\/|application\/(?:javascript|json|xml|[\w.+-]+\+(?:json|xml)|wasm)|image\/svg)/i
const WITH_CHARSET = /^(?:text\/|application\/(?:javascript|json|xml|[\w.+-]+\+(?:json|xml))|image\/svg)/i
/** Types that uploaders use when they do not know the type. */
const UNKNOWN = /^(?:application|binary)\/octet-stream$/i

/** Type of an object as it is sent. */
export interface ContentType {
  /** Value of the header, with the character set if it is known. */
  readonly header: string
  /** Name of the encoding; undefined if it is unknown, or the object is not text. */
  readonly charset: string | undefined
}

const known = new WeakMap<Sendable, ContentType>()

/** Returns an object's media type, as stored, else by its name. */
export function mediaTypeOf(key: string, stored?: string): string {
  if (stored !== undefined && stored !== '' && !UNKNOWN.test(stored)) return stored
  return mime.getType(key) ?? 'application/octet-stream'
}

/** Returns an object's type, with the character set of its bytes if the store does not have one. */
export function contentTypeOf(object: Sendable): ContentType {
  let type = known.get(object)
  if (type === undefined) known.set(object, (type = makeType(object)))
  return type
}

/** Whether an object is an HTML page in memory, stored without compression. */
export function isHtmlPage(object: Sendable): object is CachedObject {
  if (object.is !== 'cached' || isEncoded(object)) return false
  return /^text\/html\s*(?:;|$)/i.test(contentTypeOf(object).header)
}

/** Whether an object was compressed before it was stored. */
export function isEncoded({ info: { contentEncoding = '' } }: Sendable): boolean {
  return contentEncoding !== ''
}

/** Whether compressing helps. */
export function isText(contentType: string): boolean {
  return TEXT.test(contentType)
}

function makeType(object: Sendable): ContentType {
  const { info, published } = object
  // The store has the type of the path under which the content was first published.
  const type = published === undefined ? mediaTypeOf(info.key, info.contentType) : mediaTypeOf(published.path)
  if (!WITH_CHARSET.test(type)) return { header: type, charset: undefined }
  const charset = charsetIn(object, type)
  const isStored = charset !== undefined && encodingOf(labelOf(type)) === charset
  return { header: isStored ? type : withCharset(type, charset), charset }
}

function charsetIn(object: Sendable, type: string): string | undefined {
  const isWhole = object.is === 'cached'
  if (!isEncoded(object)) return charsetOf(isWhole ? object.bytes : object.head, type, isWhole)
  const { decoded } = object
  if (decoded === undefined) return encodingOf(labelOf(type))
  return charsetOf(decoded, type, isWhole && decoded.length < DECODED_BYTES)
}
