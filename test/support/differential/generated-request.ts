import { METHODS } from 'node:http'
import { malformed } from './malformed.ts'
import type { Random } from './random.ts'
import { optionsOf, type Pairs, render, type SentRequest, valuesOf } from './sent-request.ts'

/** A request as bytes with its expected outcome. All text is Latin-1: one byte per character. */
export interface GeneratedRequest {
  readonly bytes: Buffer
  /** `pass`: every server must receive it as `sent`; `refuse`: none may receive it; `either`: all that receive it must agree. */
  readonly verdict: 'pass' | 'refuse' | 'either'
  /** Whether another request may follow on the same connection. */
  readonly isLast: boolean
  readonly sent: SentRequest
}

/** Where requests are sent: the host, and the prefix of the target. */
export interface Address {
  readonly host: string
  readonly prefix: string
}

/** CONNECT is not a forwardable request, and SOURCE belongs to another protocol. */
const ALL_METHODS = METHODS.filter((method) => method !== 'CONNECT' && method !== 'SOURCE')
const COMMON_METHODS = [
  'GET',
  'HEAD',
  'POST',
  'PUT',
  'DELETE',
  'OPTIONS',
  'PATCH',
  'PROPFIND',
  'PURGE',
  'QUERY',
]
const TARGETS = [
  '/',
  '/a%20b',
  '/%',
  '/%zz',
  '/%2e%2e/%2f',
  '//double//slash',
  '/../up',
  '/a;b=c',
  '/a?b=c&d',
  '/?a=/../b?c',
  '/"<>|^`{}',
  `/${'long/'.repeat(200)}`,
]
const VALUES = [
  '',
  'a',
  'a, b',
  'text/html;q=0.9, */*',
  '"quoted, text"',
  'caf\xe9 \xff',
  'tab\there',
  'GET / HTTP/1.1',
  '5',
  'chunked',
  ':',
]
const NAMES = [
  'Accept',
  'Accept-Encoding',
  'Authorization',
  'Content-Encoding',
  'Content-Language',
  'Content-Type',
  'Cookie',
  'Date',
  'If-None-Match',
  'Referer',
  'User-Agent',
  'X-One',
  'x-two',
  'X_Under',
  "x!#$%&'*+.^`|~",
]
/** Hop-by-hop headers, or ones that the proxy sets; none arrives as sent. */
const NOT_PASSED: Pairs = [
  ['Keep-Alive', 'timeout=5'],
  ['Proxy-Connection', 'keep-alive'],
  ['Proxy-Authorization', 'Basic eDp5'],
  ['Proxy-Authenticate', 'Basic'],
  ['TE', 'trailers, deflate'],
  ['HTTP2-Settings', 'AAMAAABkAAQAAP__'],
  ['X-Forwarded-For', '6.6.6.6'],
  ['x-forwarded-host', 'evil.example'],
  ['X_Forwarded_For', '6.6.6.6'],
  ['X-Forwarded_Proto', 'https'],
  ['Forwarded', 'for=6.6.6.6'],
  ['X-Real-IP', '6.6.6.6'],
  ['Upgrade', 'websocket'],
  ['Expect', '100-continue'],
]
const SMUGGLED = 'GET /smuggled HTTP/1.1\r\nHost: smuggled\r\n\r\n'
const BODIES = [
  'x',
  'hello',
  SMUGGLED,
  `0\r\n\r\n${SMUGGLED}`,
  `5\r\nhello\r\n0\r\n\r\n${SMUGGLED}`,
  '\0\r\n\xff',
]
const TRAILERS: Pairs = [
  ['X-Checksum', 'abc'],
  ['X-Late', ''],
  ['Host', 'evil.example'],
  ['Content-Type', 'text/late'],
  ['Authorization', 'Bearer late'],
  ['X-Forwarded-For', '6.6.6.6'],
  ['Cookie', 'late=1'],
]

/** Generates a request. The same random numbers yield the same request. */
export function generateRequest(random: Random, address: Address): GeneratedRequest {
  // Uses placeholders, so that the same random choices cause the same damage for any address.
  const generated = generate(random, { host: HOST, prefix: address.prefix === '' ? '' : PREFIX })
  const place = (text: string): string =>
    text.replaceAll(HOST, address.host).replaceAll(PREFIX, address.prefix)
  const { sent } = generated
  return {
    ...generated,
    bytes: Buffer.from(place(generated.text), 'latin1'),
    sent: { ...sent, target: place(sent.target) },
  }
}

const HOST = '~HOST~'
const PREFIX = '/~PREFIX~'

function generate(
  random: Random,
  address: Address,
): Omit<GeneratedRequest, 'bytes'> & { readonly text: string } {
  const sent = generateSent(random, address)
  const options = optionsOf(sent.headers)
  const asksUpgrade = has(sent.headers, 'upgrade') && options.includes('upgrade')
  const hasBody = sent.isChunked || sent.body !== ''
  const forbidden = options.some((option) => FRAMING_NAMES.includes(option))
  // Go answers such a target before reading the body, so no request may follow.
  const isRefusedEarly = /%(?![0-9a-f]{2})/i.test(sent.target)
  const isLast =
    isRefusedEarly ||
    asksUpgrade ||
    sent.version === '1.0' ||
    options.includes('close') ||
    random.chance(0.01)
  const text = render(sent, random)
  if (forbidden || (asksUpgrade && hasBody)) return { text, verdict: 'refuse', isLast: true, sent }
  if (random.chance(0.1)) return { text: malformed(sent, random), verdict: 'refuse', isLast: true, sent }
  if (random.chance(0.02)) return { text: damaged(text, random), verdict: 'either', isLast: true, sent }
  return { text, verdict: 'pass', isLast, sent }
}

const FRAMING_NAMES: readonly string[] = ['content-length', 'transfer-encoding', 'host', 'trailer']

function generateSent(random: Random, { host, prefix }: Address): SentRequest {
  const method = random.pick(random.chance(0.8) ? COMMON_METHODS : ALL_METHODS)
  const version = random.chance(0.05) ? '1.0' : '1.1'
  const framing = random.pick(['none', 'none', 'length', 'length', 'chunked', 'chunked', 'zero'])
  const isChunked = framing === 'chunked' && version === '1.1'
  const body =
    framing === 'none' || framing === 'zero' || (isChunked && random.chance(0.1)) ? '' : bodyOf(random)
  const trailers = isChunked && random.chance(0.3) ? random.some(TRAILERS, 3) : []
  const headers: [string, string][] = [
    ['Host', host],
    ...random.some(NAMES, 6).map((name) => [name, random.pick(VALUES)] as [string, string]),
    ...random.some(NOT_PASSED, 2).map(([name, value]) => [name, value] as [string, string]),
  ]
  if (isChunked) headers.push(['Transfer-Encoding', random.pick(['chunked', 'Chunked', 'CHUNKED'])])
  else if (framing !== 'none') headers.push(['Content-Length', String(body.length)])
  if (trailers.length > 0 && random.chance(0.7))
    headers.push(['Trailer', trailers.map(([name]) => name).join(', ')])
  if (random.chance(0.3)) headers.push(['Connection', connectionOf(random, headers)])
  return {
    method,
    target: targetOf(random, method, prefix),
    version,
    headers: shuffled(random, headers),
    body,
    isChunked,
    trailers,
  }
}

/** Returns names of existing headers; framing headers only occasionally, because such requests are refused. */
function connectionOf(random: Random, headers: Pairs): string {
  const names = headers.map(([name]) => name)
  const harmless = names.filter((name) => !FRAMING_NAMES.includes(name.toLowerCase()))
  const options = ['keep-alive', 'TE', 'x-unknown', ...(random.chance(0.2) ? names : harmless)]
  if (random.chance(0.05)) options.push('close', 'close')
  return random.some(options, 4).join(random.pick([',', ', ', ' ,\t'])) || 'keep-alive'
}

function targetOf(random: Random, method: string, prefix: string): string {
  if (method === 'OPTIONS' && prefix === '' && random.chance(0.1)) return '*'
  return prefix + random.pick(TARGETS)
}

function bodyOf(random: Random): string {
  if (random.chance(0.02)) return 'z'.repeat(1 + random.below(100_000))
  return random.pick(BODIES)
}

function shuffled<Item>(random: Random, items: readonly Item[]): readonly Item[] {
  return items
    .map((item) => [random.next(), item] as const)
    .toSorted(([left], [right]) => left - right)
    .map(([, item]) => item)
}

/** Changes, drops or duplicates a few bytes anywhere. */
function damaged(whole: string, random: Random): string {
  let text = whole
  for (let count = 1 + random.below(3); count > 0; count--) {
    const at = random.below(Math.min(text.length, 600))
    const put = random.pick([
      '',
      ' ',
      '\t',
      '\r',
      '\n',
      '\r\n',
      '\0',
      ':',
      ',',
      '0',
      '5',
      'x',
      '\x0b',
      '\x7f',
      text.charAt(at).repeat(2),
    ])
    text = text.slice(0, at) + put + text.slice(at + random.below(2))
  }
  return text
}

function has(headers: Pairs, name: string): boolean {
  return valuesOf(headers, name).length > 0
}
