import { createHash } from 'node:crypto'
import type { GeneratedRequest } from './generated-request.ts'
import type { Recorder } from './recorders.ts'
import type { Pairs, SentRequest } from './sent-request.ts'

/** A request as received by a recorder. */
export interface Echo {
  readonly method: string
  readonly target: string
  readonly headers: Pairs
  readonly trailers?: Pairs
  readonly length: number
  readonly sha256: string
}

/** How a front modifies requests beyond the usual proxy changes. */
export interface Changes {
  /** The host that the recorder sees. */
  readonly host: string
  /** The prefix that the front removes from the target. */
  readonly prefix: string
  /** Headers that it does not forward. */
  readonly withheld: readonly string[]
}

/** Hop-by-hop headers and the proxy's own; listed independently of the proxy's code, which is under test. */
const NOT_COMPARED = new Set([
  'connection',
  'content-length',
  'expect',
  'forwarded',
  'host',
  'http2-settings',
  'keep-alive',
  'proxy-authenticate',
  'proxy-authorization',
  'proxy-connection',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
  'via',
  'x-forwarded-for',
  'x-forwarded-host',
  'x-forwarded-proto',
  'x-real-ip',
])
const MAY_TRAIL = new Set(['x-checksum', 'x-late'])

/** Returns an error if a recorder received a request incorrectly, else undefined. */
export function differenceOf(
  { sent }: GeneratedRequest,
  echo: Echo,
  recorder: Recorder,
  changes: Changes,
): string | undefined {
  const expected: Readonly<Record<string, unknown>> = {
    method: sent.method,
    target: sent.target === '*' ? '*' : sent.target.slice(changes.prefix.length),
    length: sent.body.length,
    sha256: createHash('sha256').update(sent.body, 'latin1').digest('hex'),
    headers: comparable(sent.headers, changes.withheld),
    host: changes.host,
    forwardedFor: '127.0.0.1',
    trailers: trailersFor(sent, recorder),
  }
  const seen: Readonly<Record<string, unknown>> = {
    ...seenBy(echo, changes.withheld),
    host: valueOf(echo.headers, 'host'),
    forwardedFor: valueOf(echo.headers, 'x-forwarded-for'),
    trailers: comparable(echo.trailers ?? [], []),
  }
  for (const [what, value] of Object.entries(expected)) {
    const [wanted, got] = [JSON.stringify(value), JSON.stringify(seen[what])]
    if (wanted !== got) return `${what}: sent ${wanted}, ${recorder.name} saw ${got}`
  }
  return undefined
}

/** Returns the parts on which all recorders must agree. */
export function seenBy(echo: Echo, withheld: readonly string[]): Readonly<Record<string, unknown>> {
  const { method, target, length, sha256 } = echo
  return { method, target, length, sha256, headers: comparable(echo.headers, withheld) }
}

/** Groups values by name, because servers preserve the order of one name's values only. */
function comparable(
  headers: Pairs,
  withheld: readonly string[],
): readonly (readonly [string, readonly string[]])[] {
  const values = new Map<string, string[]>()
  for (const [name, value] of headers) {
    const lower = name.toLowerCase()
    if (NOT_COMPARED.has(lower.replaceAll('_', '-')) || withheld.includes(lower)) continue
    values.set(lower, [...(values.get(lower) ?? []), value])
  }
  return [...values].toSorted(([left], [right]) => (left < right ? -1 : 1))
}

/** nginx and Python's server drop trailers. */
function trailersFor({ trailers }: SentRequest, { name }: Recorder) {
  if (name === 'nginx' || name === 'python') return []
  return comparable(
    trailers.filter(([trailer]) => MAY_TRAIL.has(trailer.toLowerCase())),
    [],
  )
}

function valueOf(headers: Pairs, name: string): string {
  return headers
    .filter(([each]) => each.toLowerCase() === name)
    .map(([, value]) => value)
    .join(', ')
}
