import type { IncomingMessage } from 'node:http'
import { type HeaderPairs, pairsOf, tokensOf } from './header-pairs.ts'

/**
 * Headers that end at this proxy. The list is fixed: a `Connection` header adds nothing to it, because whoever may name headers
 * there would choose which headers the other side sees. Source: RFC 9110, 7.6.1; the same choice as in nginx.
 */
const HOP_BY_HOP = new Set([
  'connection',
  'content-length',
  'expect',
  'http2-settings',
  'keep-alive',
  'proxy-authenticate',
  'proxy-authentication-info',
  'proxy-authorization',
  'proxy-connection',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
])

/** Fields that mean something before the body is read, so that a trailer of that name would be believed too late or twice. */
const NEVER_TRAILERS = new Set([
  'age',
  'authorization',
  'cache-control',
  'cookie',
  'date',
  'expires',
  'forwarded',
  'host',
  'location',
  'max-forwards',
  'pragma',
  'range',
  'retry-after',
  'set-cookie',
  'vary',
  'via',
  'warning',
  'www-authenticate',
])
const NEVER_TRAILER_PREFIXES = [
  'access-control-',
  'content-',
  'if-',
  'proxy-',
  'sec-',
  'x-forwarded-',
  'x-real-',
]
/** Values that Node would refuse to send. */
const VALUE = /^[\t\x20-\x7e\x80-\xff]*$/
const TOKEN = /^[!#$%&'*+.^_`|~0-9a-z-]+$/i

/** Returns a message's headers without those of its connection; framing headers are the sender's to add. */
export function endToEnd({ rawHeaders }: IncomingMessage): HeaderPairs {
  return pairsOf(rawHeaders).filter(([name]) => !HOP_BY_HOP.has(plainName(name)))
}

/**
 * Returns a header's name in lower case, with `_` as `-`: programs behind CGI or WSGI see `X_Forwarded_For` as
 * `X-Forwarded-For`.
 */
export function plainName(name: string): string {
  const lower = name.toLowerCase()
  return lower.includes('_') ? lower.replaceAll('_', '-') : lower
}

/** Returns the `Trailer` header for a chunked message: the announced names that may be trailers. */
export function announcedTrailers({ rawHeaders }: IncomingMessage): HeaderPairs {
  const names = tokensOf(rawHeaders, 'trailer').filter(mayTrail)
  return names.length === 0 ? [] : [['Trailer', names.join(', ')]]
}

/** Returns the trailers that may be passed on, once the body has been read. Source: RFC 9110, 6.5.1. */
export function passedTrailers({ rawTrailers }: IncomingMessage): HeaderPairs {
  return pairsOf(rawTrailers).filter(([name, value]) => mayTrail(name) && VALUE.test(value))
}

function mayTrail(name: string): boolean {
  const plain = plainName(name)
  return (
    TOKEN.test(plain) &&
    !HOP_BY_HOP.has(plain) &&
    !NEVER_TRAILERS.has(plain) &&
    !NEVER_TRAILER_PREFIXES.some((prefix) => plain.startsWith(prefix))
  )
}
