import type { Random } from './random.ts'

/** Headers in the order sent. */
export type Pairs = readonly (readonly [name: string, value: string])[]

/** A request before serialization. All text is Latin-1: one byte per character. */
export interface SentRequest {
  readonly method: string
  readonly target: string
  readonly version: string
  readonly headers: Pairs
  readonly body: string
  readonly isChunked: boolean
  readonly trailers: Pairs
}

/** Serializes a request, varying what the grammar leaves open. */
export function render(sent: SentRequest, random: Random): string {
  const { method, target, version, headers } = sent
  const lines = headers.map(
    ([name, value]) =>
      `${name}:${random.pick(['', ' ', ' ', '\t', '  '])}${value}${random.pick(['', '', ' '])}\r\n`,
  )
  return `${method} ${target} HTTP/${version}\r\n${lines.join('')}\r\n${renderBody(sent, random)}`
}

function renderBody({ body, isChunked, trailers }: SentRequest, random: Random): string {
  if (!isChunked) return body
  let text = ''
  for (let from = 0; from < body.length;) {
    const size = 1 + random.below(body.length - from)
    const extension = random.chance(0.1) ? ';a=b' : ''
    const digits = random.chance(0.1) ? `00${size.toString(16)}` : size.toString(16).toUpperCase()
    text += `${digits}${extension}\r\n${body.slice(from, from + size)}\r\n`
    from += size
  }
  return `${text}0\r\n${trailers.map(([name, value]) => `${name}: ${value}\r\n`).join('')}\r\n`
}

/** Returns the names listed in `Connection`, in lower case. */
export function optionsOf(headers: Pairs): readonly string[] {
  return valuesOf(headers, 'connection').flatMap((value) =>
    value.split(',').map((each) => each.trim().toLowerCase()),
  )
}

/** Returns all values of a header; `name` is in lower case. */
export function valuesOf(headers: Pairs, name: string): readonly string[] {
  return headers.filter(([each]) => each.toLowerCase() === name).map(([, value]) => value)
}
