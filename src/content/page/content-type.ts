import mime from 'mime'

const TEXT = /^(?:text\/|application\/(?:javascript|json|xml|[\w.+-]+\+(?:json|xml)|wasm)|image\/svg)/
const WITH_CHARSET = /^(?:text\/|application\/(?:javascript|json|xml|[\w.+-]+\+(?:json|xml))|image\/svg)/
/** Types that uploaders use when they do not know the type. */
const UNKNOWN = /^(?:application|binary)\/octet-stream$/

/** Returns an object's media type with its charset: as stored, else by its name. */
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
