/** Headers in order, as sent. */
export type HeaderPairs = readonly (readonly [name: string, value: string])[]

/** Maximum entries of `rawHeaders`, two per header; Node silently drops the rest. */
const MAX_RAW_ENTRIES = 2_000

/** Converts Node's flat list of raw headers or trailers to pairs. */
export function pairsOf(raw: readonly string[]): HeaderPairs {
  const pairs: (readonly [string, string])[] = []
  for (let at = 0; at < raw.length; at += 2) pairs.push([raw[at] ?? '', raw[at + 1] ?? ''])
  return pairs
}

/** Whether Node may have dropped headers, which leaves framing and host unknown. */
export function hasLostHeaders(raw: readonly string[]): boolean {
  return raw.length >= MAX_RAW_ENTRIES
}

/** Returns the values of every header with this lower-case name, in order. */
export function valuesOf(raw: readonly string[], name: string): readonly string[] {
  const values: string[] = []
  for (let at = 0; at < raw.length; at += 2) {
    const each = raw[at] ?? ''
    if (each.length === name.length && each.toLowerCase() === name) values.push(raw[at + 1] ?? '')
  }
  return values
}

/** Returns the lower-case members of a header that is a list, over all its lines. */
export function tokensOf(raw: readonly string[], name: string): readonly string[] {
  return valuesOf(raw, name).flatMap((value) => value.split(',').map((each) => each.trim().toLowerCase()))
}
