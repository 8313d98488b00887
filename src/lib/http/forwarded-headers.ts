import type { IncomingMessage } from 'node:http'

/** Headers of one connection only. Source: RFC 9110, 7.6.1. */
const HOP_BY_HOP = new Set([
  'connection',
  'keep-alive',
  'proxy-authenticate',
  'proxy-authorization',
  'proxy-connection',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
])
/** What we say ourselves, whatever a client says. */
const OURS = new Set([
  'x-forwarded-for',
  'x-forwarded-host',
  'x-forwarded-proto',
  'forwarded',
  'x-real-ip',
  'via',
])

/** Headers in their order, as they were written. */
export type HeaderPairs = readonly (readonly [name: string, value: string])[]

/** Headers as they came, without those of the connection and those that the connection header names. */
export function endToEnd(message: IncomingMessage): HeaderPairs {
  const named = new Set(
    (message.headers.connection ?? '').split(',').map((name) => name.trim().toLowerCase()),
  )
  return pairsOf(message.rawHeaders).filter(([name]) => {
    const lower = name.toLowerCase()
    return !HOP_BY_HOP.has(lower) && !named.has(lower)
  })
}

/** What a proxy says of itself and of how a request came to it. */
export interface Forwarder {
  /** Its name in `Via`. */
  readonly name: string
  readonly protocol: 'http' | 'https'
}

/** The headers of a request as it is handed on. Source: RFC 9110, 7.6.3, and what all proxies say beside that. */
export function toUpstream(request: IncomingMessage, { name, protocol }: Forwarder): HeaderPairs {
  const passed = endToEnd(request).filter(([header]) => !OURS.has(header.toLowerCase()))
  return [
    ...passed,
    ['X-Forwarded-For', request.socket.remoteAddress ?? ''],
    ['X-Forwarded-Host', request.headers.host ?? ''],
    ['X-Forwarded-Proto', protocol],
    ['Via', [request.headers.via, `1.1 ${name}`].filter(Boolean).join(', ')],
  ]
}

/** Whether a request has come through the proxy of this name already. */
export function isLoop(request: IncomingMessage, name: string): boolean {
  return (request.headers.via ?? '').split(',').some((hop) => hop.trim().split(' ')[1] === name)
}

function pairsOf(raw: readonly string[]): HeaderPairs {
  return Array.from(
    { length: raw.length / 2 },
    (_, at) => [raw[2 * at] ?? '', raw[2 * at + 1] ?? ''] as const,
  )
}
