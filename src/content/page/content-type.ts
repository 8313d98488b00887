import mime from 'mime'

const TEXT = /^(?:text\/|application\/(?:javascript|json|xml|[\w.+-]+\+(?:json|xml)|wasm)|image\/svg)/
const WITH_CHARSET = /^(?:text\/|application\/(?:javascript|json|xml|[\w.+-]+\+(?:json|xml))|image\/svg)/
/** What uploaders say when they know nothing. */
const UNKNOWN = /^(?:application|binary)\/octet-stream$/

/** The media type of an object, with its charset: what was said at the writing, else what the name tells. */
export function contentTypeOf(key: string, said?: string): string {
  if (said !== undefined && said !== '' && !UNKNOWN.test(said)) return withCharset(said)
  return withCharset(mime.getType(key) ?? 'application/octet-stream')
}

/** Whether compressing helps. */
export function isText(contentType: string): boolean {
  return TEXT.test(contentType)
}

function withCharset(type: string): string {
  return WITH_CHARSET.test(type) && !/;\s*charset=/i.test(type) ? `${type}; charset=utf-8` : type
}
