import type { IncomingMessage } from 'node:http'
import { httpFault } from '../faults.ts'
import { type Framing, framingOf, hasBody } from './framing.ts'
import { hasLostHeaders, tokensOf, valuesOf } from './header-pairs.ts'

/** An unambiguous request, the only kind that is forwarded. */
export interface CheckedRequest {
  readonly message: IncomingMessage
  readonly framing: Framing
  /** Path and query as sent, or `*`. */
  readonly target: string
}

/** Headers that frame or address a message; a `Connection` that names one would remove it. */
const NOT_OPTIONS = new Set(['content-length', 'host', 'trailer', 'transfer-encoding'])

/** Protocols that would let a client bypass the proxy with HTTP on an unchecked connection. */
const STILL_HTTP = /^(?:h2c?|http|tls)(?:\/|$)/

/** Validates a request. @throws INVALID_REQUEST when two servers could interpret its end, host or target differently (threat H6) */
export function checkRequest(message: IncomingMessage): CheckedRequest {
  const { rawHeaders } = message
  const named = tokensOf(rawHeaders, 'connection').find((option) => NOT_OPTIONS.has(option))
  if (named !== undefined)
    throw invalid(`names "${named}" in Connection, which may not be removed on the way`)
  if (hasLostHeaders(rawHeaders)) throw invalid('has 1,000 headers or more')
  const framing = framingOf(message)
  if (framing.is === 'ambiguous') throw invalid(framing.why)
  if (hasBody(framing) && asksUpgrade(message)) throw invalid('has a body and asks for an upgrade')
  return { message, framing, target: targetOf(message) }
}

/** Methods that may be repeated. Source: RFC 9110, 9.2.2, without PUT and DELETE, which programs often implement differently. */
const REPEATABLE_METHODS = new Set(['GET', 'HEAD', 'OPTIONS', 'TRACE'])

/**
 * Returns whether a request may be sent again when a connection closes before its response. A proxy must not repeat others, even if
 * the connection was used before: the upstream may have processed the request. Source: RFC 9110, 9.2.2.
 */
export function isRepeatable({ message, framing }: CheckedRequest): boolean {
  return !hasBody(framing) && REPEATABLE_METHODS.has(message.method ?? '')
}

/** Whether a request asks for an upgrade that may be forwarded; any other is handled as a plain request. */
export function isForwardedUpgrade(message: IncomingMessage): boolean {
  if (message.httpVersion !== '1.1' || !asksUpgrade(message)) return false
  return !tokensOf(message.rawHeaders, 'upgrade').some((each) => each === '' || STILL_HTTP.test(each))
}

/** Whether Node's parser treats a request as an upgrade and stops reading the connection. */
export function asksUpgrade({ rawHeaders, headers }: IncomingMessage): boolean {
  return headers.upgrade !== undefined && tokensOf(rawHeaders, 'connection').includes('upgrade')
}

/** Returns the target in origin form, as sent to servers that are not proxies. Source: RFC 9112, 3.2. */
function targetOf({ rawHeaders, method, url = '' }: IncomingMessage): string {
  const [host, another] = valuesOf(rawHeaders, 'host')
  if (host === undefined || host === '' || another !== undefined) throw invalid('must have one Host header')
  if (url.includes('#')) throw invalid('has a target with a fragment')
  if (url.startsWith('/') || (url === '*' && method === 'OPTIONS')) return url
  const [, authority, rest = ''] = /^https?:\/\/([^/?]*)(.*)$/i.exec(url) ?? []
  if (authority === undefined) throw invalid('has a target that is not a path')
  if (authority.toLowerCase() !== host.toLowerCase()) throw invalid('names two hosts')
  if (rest === '' && method === 'OPTIONS') return '*'
  return rest.startsWith('/') ? rest : `/${rest}`
}

function invalid(why: string) {
  return httpFault('INVALID_REQUEST', `the request ${why}, so it is not forwarded`)
}
