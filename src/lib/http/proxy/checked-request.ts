import type { IncomingMessage } from 'node:http'
import { httpFault } from '../faults.ts'
import { type Framing, framingOf } from './framing.ts'
import { tokensOf, valuesOf } from './header-pairs.ts'

/** A request that every server reads in the same way. Only such a request is forwarded. */
export interface CheckedRequest {
  readonly message: IncomingMessage
  readonly framing: Framing
  /** Path and query as they were written, or `*`. */
  readonly target: string
}

/** Headers that say where a message ends or whom it is for; a `Connection` that names one asks us to lose it. */
const NOT_OPTIONS = new Set(['content-length', 'host', 'trailer', 'transfer-encoding'])

/** Protocols that would let a client speak HTTP past the proxy, on a connection that it does not read. */
const STILL_HTTP = /^(?:h2c?|http|tls)(?:\/|$)/

/** @throws INVALID_REQUEST for a request whose end, host or target two servers could see differently (threat H6) */
export function checkRequest(message: IncomingMessage): CheckedRequest {
  const { rawHeaders } = message
  const named = tokensOf(rawHeaders, 'connection').find((option) => NOT_OPTIONS.has(option))
  if (named !== undefined)
    throw invalid(`names "${named}" in Connection, which may not be removed on the way`)
  const framing = framingOf(message)
  if (framing.is === 'ambiguous') throw invalid(framing.why)
  const hasBody = framing.is === 'chunked' || (framing.is === 'length' && framing.bytes > 0)
  if (hasBody && asksUpgrade(message)) throw invalid('has a body and asks for an upgrade')
  return { message, framing, target: targetOf(message) }
}

/** Whether a request wants to leave HTTP for a protocol that may be forwarded; any other is answered as a plain request. */
export function isForwardedUpgrade(message: IncomingMessage): boolean {
  if (message.httpVersion !== '1.1' || !asksUpgrade(message)) return false
  return !tokensOf(message.rawHeaders, 'upgrade').some((each) => each === '' || STILL_HTTP.test(each))
}

/** Whether Node's parser takes a request for an upgrade; it then reads no further request from the connection. */
export function asksUpgrade({ rawHeaders, headers }: IncomingMessage): boolean {
  return headers.upgrade !== undefined && tokensOf(rawHeaders, 'connection').includes('upgrade')
}

/** Returns the target in origin form, in which servers that are no proxies are asked. Source: RFC 9112, 3.2. */
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
