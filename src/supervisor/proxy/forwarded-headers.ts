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
const NAME = 'supervisor'

type Pairs = readonly (readonly [name: string, value: string])[]

/** Headers as they came, without those of the connection and those that the connection header names. */
export function endToEnd(message: IncomingMessage): Pairs {
  const named = new Set(
    (message.headers.connection ?? '').split(',').map((name) => name.trim().toLowerCase()),
  )
  return pairsOf(message.rawHeaders).filter(([name]) => {
    const lower = name.toLowerCase()
    return !HOP_BY_HOP.has(lower) && !named.has(lower)
  })
}

/** The headers of a request as the process gets them, ready for `node:http`. */
export function toProcess(request: IncomingMessage): string[] {
  const passed = endToEnd(request).filter(([name]) => !OURS.has(name.toLowerCase()))
  const said: Pairs = [
    ['X-Forwarded-For', request.socket.remoteAddress ?? ''],
    ['X-Forwarded-Host', request.headers.host ?? ''],
    ['X-Forwarded-Proto', 'http'],
    ['Via', [request.headers.via, `1.1 ${NAME}`].filter(Boolean).join(', ')],
  ]
  return [...passed, ...said].flat()
}

/** Whether a request has come through here already. */
export function isLoop(request: IncomingMessage): boolean {
  return (request.headers.via ?? '').split(',').some((hop) => hop.trim().split(' ')[1] === NAME)
}

function pairsOf(raw: readonly string[]): Pairs {
  return Array.from(
    { length: raw.length / 2 },
    (_, at) => [raw[2 * at] ?? '', raw[2 * at + 1] ?? ''] as const,
  )
}
