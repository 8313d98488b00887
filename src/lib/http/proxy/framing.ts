import type { IncomingMessage } from 'node:http'
import { hasLostHeaders, type HeaderPairs, valuesOf } from './header-pairs.ts'

/** How a message's body is delimited, as Node's parser read it. `close`: an answer that ends with its connection. */
export type Framing =
  | { readonly is: 'none' }
  | { readonly is: 'length'; readonly bytes: number }
  | { readonly is: 'chunked' }
  | { readonly is: 'close' }

/** Reasons a message's end could be seen in two places. Never thrown: the caller knows whose message it is. */
export interface Ambiguity {
  readonly is: 'ambiguous'
  /** Completes "the request …" or "the answer …". */
  readonly why: string
}

const LENGTH = /^\d{1,15}$/

/**
 * Returns the framing that a message's headers state. Node's parser refuses most contradictions by itself; this function trusts
 * none of them to it, because the proxy writes the framing anew and the two must not differ. Source: RFC 9112, 6.
 */
export function framingOf({ rawHeaders, httpVersion }: IncomingMessage): Framing | Ambiguity {
  // Node's parser also reads 0.9 and 2.0, which frame in other ways.
  if (httpVersion !== '1.1' && httpVersion !== '1.0') return ambiguous(`is HTTP/${httpVersion}`)
  if (hasLostHeaders(rawHeaders)) return ambiguous('has 1,000 headers or more')
  const codings = valuesOf(rawHeaders, 'transfer-encoding')
  const lengths = valuesOf(rawHeaders, 'content-length')
  if (codings.length > 0) {
    if (httpVersion !== '1.1') return ambiguous(`is HTTP/${httpVersion} and has Transfer-Encoding`)
    if (lengths.length > 0) return ambiguous('has both Transfer-Encoding and Content-Length')
    if (codings.length > 1 || codings[0]?.toLowerCase() !== 'chunked')
      return ambiguous('has a Transfer-Encoding other than "chunked"')
    return { is: 'chunked' }
  }
  const [length] = lengths
  if (length === undefined) return { is: 'none' }
  if (lengths.length > 1) return ambiguous('has more than one Content-Length')
  if (!LENGTH.test(length)) return ambiguous('has a Content-Length that is not a number of at most 15 digits')
  return { is: 'length', bytes: Number(length) }
}

function ambiguous(why: string): Ambiguity {
  return { is: 'ambiguous', why }
}

/** Methods whose requests Node sends without framing headers where there is no body. */
const BODILESS_METHODS = new Set(['GET', 'HEAD', 'DELETE', 'OPTIONS', 'TRACE'])

/** Returns the framing headers of a request as the proxy sends it: always its own, never the client's. */
export function framingHeaders(framing: Framing, method: string): HeaderPairs {
  if (framing.is === 'chunked') return [['Transfer-Encoding', 'chunked']]
  if (framing.is === 'length') return [['Content-Length', String(framing.bytes)]]
  return BODILESS_METHODS.has(method) ? [] : [['Content-Length', '0']]
}
