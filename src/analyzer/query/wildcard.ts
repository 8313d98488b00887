/** A test of the text whose UTF-8 is the bytes from `start` to `end`. */
export type BytesTest = (bytes: Uint8Array, start: number, end: number) => boolean

/** As `bytesWildcard`, of a text. */
export function wildcard(pattern: string): (text: string) => boolean {
  const fits = bytesWildcard(pattern)
  return (text) => {
    const bytes = Buffer.from(text)
    return fits(bytes, 0, bytes.length)
  }
}

/**
 * A test for a pattern in which `*` stands for any text. Takes time in proportion to the text for each piece between the
 * stars, whatever the pattern (threat A6). Without a star the text must be the pattern.
 */
export function bytesWildcard(pattern: string): BytesTest {
  const [first = Buffer.alloc(0), ...rest] = pattern.split(/\*+/).map((piece) => Buffer.from(piece))
  const last = rest.pop()
  if (last === undefined)
    return (bytes, start, end) => end - start === first.length && isAt(first, bytes, start)
  const shortest = first.length + last.length
  return (bytes, start, end) => {
    if (end - start < shortest || !isAt(first, bytes, start)) return false
    let at = start + first.length
    const before = end - last.length
    for (const piece of rest) {
      const found = placeOf(piece, bytes, at, before)
      if (found === -1) return false
      at = found + piece.length
    }
    return isAt(last, bytes, before)
  }
}

/** From where on comparing at every place would be slower than a search that skips, and at worst take the product of both. */
const LONG_PIECE = 16

function placeOf(piece: Uint8Array, bytes: Uint8Array, start: number, end: number): number {
  if (piece.length > LONG_PIECE) {
    const found = Buffer.from(bytes.buffer, bytes.byteOffset + start, end - start).indexOf(piece)
    return found === -1 ? -1 : start + found
  }
  const [first] = piece
  const last = end - piece.length
  for (let at = start; at <= last; at++)
    if ((bytes[at] === first || first === undefined) && isAt(piece, bytes, at)) return at
  return -1
}

function isAt(piece: Uint8Array, bytes: Uint8Array, at: number): boolean {
  for (let i = 0; i < piece.length; i++) if (bytes[at + i] !== piece[i]) return false
  return true
}
