import type { IncomingMessage } from 'node:http'
import { type HeaderPairs, valuesOf } from './header-pairs.ts'

/** Delimitation of a message's body as read by Node's parser. `close`: a response that ends with its connection. */
export type Framing =
  | { readonly is: 'none' }
  | { readonly is: 'length'; readonly bytes: number }
  | { readonly is: 'chunked' }
  | { readonly is: 'close' }

/** Reason why a message's end is ambiguous. Not thrown, because only the caller knows the sender. */
export interface Ambiguity {
  readonly is: 'ambiguous'
  /** Completes "the request …" or "the response …". */
  readonly why: string
}

const LENGTH = /^\d{1,15}$/

/**
 * Returns the framing stated by a message's headers. Node's parser refuses most contradictions; this function does not rely on it,
 * because the proxy writes its own framing and the two must agree. Source: RFC 9112, 6.
 */
export function framingOf({ rawHeaders, httpVersion }: IncomingMessage): Framing | Ambiguity {
  // Node's parser also accepts 0.9 and 2.0, which have other framing.
  if (httpVersion !== '1.1' && httpVersion !== '1.0') return ambiguous(`is HTTP/${httpVersion}`)
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

/** Returns whether a message with this framing has a body. */
export function hasBody(framing: Framing): boolean {
  return framing.is === 'length' ? framing.bytes > 0 : framing.is !== 'none'
}

function ambiguous(why: string): Ambiguity {
  return { is: 'ambiguous', why }
}

/** Methods for which Node sends no framing headers without a body. */
const BODILESS_METHODS = new Set(['GET', 'HEAD', 'DELETE', 'OPTIONS', 'TRACE'])

/** Returns the proxy's own framing headers for a request; the client's are never used. */
export function framingHeaders(framing: Framing, method: string): HeaderPairs {
  if (framing.is === 'chunked') return [['Transfer-Encoding', 'chunked']]
  if (framing.is === 'length') return [['Content-Length', String(framing.bytes)]]
  return BODILESS_METHODS.has(method) ? [] : [['Content-Length', '0']]
}
