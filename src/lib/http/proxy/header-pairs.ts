/** Headers in their order, as they were written. */
export type HeaderPairs = readonly (readonly [name: string, value: string])[]

/** Node keeps this many entries of `rawHeaders`, two for each header, and drops the rest without an error. */
const MAX_RAW_ENTRIES = 2_000

/** Returns Node's flat list of raw headers or trailers as pairs. */
export function pairsOf(raw: readonly string[]): HeaderPairs {
  const pairs: (readonly [string, string])[] = []
  for (let at = 0; at < raw.length; at += 2) pairs.push([raw[at] ?? '', raw[at + 1] ?? ''])
  return pairs
}

/** Whether Node may have dropped headers of a message, so that nobody knows how it was framed or whom it was for. */
export function hasLostHeaders(raw: readonly string[]): boolean {
  return raw.length >= MAX_RAW_ENTRIES
}

/** Returns the values of every header of this lower-case name, in their order. */
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
