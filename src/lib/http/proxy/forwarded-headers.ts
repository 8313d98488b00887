import type { CheckedRequest } from './checked-request.ts'
import { type ClientAddress, peerOf } from './client-address.ts'
import { endToEnd, plainName } from './end-to-end.ts'
import { type HeaderPairs, tokensOf } from './header-pairs.ts'

/** Headers that the proxy sets, and a client that is no trusted proxy cannot. */
const OURS = new Set([
  'x-forwarded-for',
  'x-forwarded-host',
  'x-forwarded-proto',
  'forwarded',
  'x-real-ip',
  'via',
])

/** A proxy's identity, the protocol a request arrived by, and the proxies in front that it trusts. */
export interface Forwarder {
  /** Its name in `Via`. */
  readonly name: string
  readonly protocol: 'http' | 'https'
  readonly clients: ClientAddress
}

/** Returns the headers of a forwarded request, without framing. Source: RFC 9110, 7.6.3, and common practice. */
export function toUpstream({ message }: CheckedRequest, { name, protocol, clients }: Forwarder): HeaderPairs {
  const { headers, rawHeaders } = message
  const before = clients.isProxied(message) ? headers : {}
  const original = (header: string): string => [before[header] ?? []].flat().join(', ')
  return [
    ...endToEnd(message).filter(([header]) => !OURS.has(plainName(header))),
    ...(tokensOf(rawHeaders, 'te').includes('trailers') ? ([['TE', 'trailers']] as const) : []),
    ['X-Forwarded-For', [original('x-forwarded-for'), peerOf(message)].filter(Boolean).join(', ')],
    ['X-Forwarded-Host', original('x-forwarded-host') || (headers.host ?? '')],
    ['X-Forwarded-Proto', original('x-forwarded-proto') || protocol],
    ['Via', [headers.via, `1.1 ${name}`].filter(Boolean).join(', ')],
  ]
}

/** Whether a request has already passed the proxy with this name. */
export function isLoop({ message }: CheckedRequest, name: string): boolean {
  return (message.headers.via ?? '').split(',').some((hop) => hop.trim().split(' ')[1] === name)
}
