import type { IncomingMessage } from 'node:http'
import { type HeaderPairs, pairsOf, tokensOf } from './header-pairs.ts'

/**
 * Hop-by-hop headers. The list is fixed: a `Connection` header adds nothing to it, because a client that can name headers there
 * would choose which headers the upstream sees. Source: RFC 9110, 7.6.1; nginx does the same.
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

/** Fields that take effect before the body is read and must not be trailers. */
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
/** Header values that Node accepts. */
const VALUE = /^[\t\x20-\x7e\x80-\xff]*$/
const TOKEN = /^[!#$%&'*+.^_`|~0-9a-z-]+$/i

/** Returns a message's end-to-end headers; the sender adds framing headers. */
export function endToEnd({ rawHeaders }: IncomingMessage): HeaderPairs {
  return pairsOf(rawHeaders).filter(([name]) => !HOP_BY_HOP.has(plainName(name)))
}

/**
 * Normalizes a header's name to lower case, with `_` as `-`: programs behind CGI or WSGI read `X_Forwarded_For` as
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

/** Returns the trailers to forward, once the body has been read. Source: RFC 9110, 6.5.1. */
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
