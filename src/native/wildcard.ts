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
  const texts = pattern.split(/\*+/)
  const first = Buffer.from(texts[0] ?? '')
  if (texts.length === 1)
    return (bytes, start, end) => end - start === first.length && isAt(first, bytes, start)
  const last = Buffer.from(texts.at(-1) ?? '')
  const pieces = texts.slice(1, -1).map(pieceOf)
  const shortest = first.length + last.length
  return (bytes, start, end) => {
    if (end - start < shortest || !isAt(first, bytes, start)) return false
    let at = start + first.length
    const before = end - last.length
    for (const piece of pieces) {
      const found = placeOf(piece, bytes, at, before)
      if (found === -1) return false
      at = found + piece.bytes.length
    }
    return isAt(last, bytes, before)
  }
}

interface Piece {
  readonly bytes: Uint8Array
  /** By the last byte of a place that does not fit: how far the next one is that may (Horspool). */
  readonly shifts: Uint8Array
}

/** From where on comparing at each place that cannot be skipped would take too long at worst. */
const LONG_PIECE = 16

function pieceOf(text: string): Piece {
  const bytes = Buffer.from(text)
  const shifts = new Uint8Array(256).fill(Math.min(bytes.length, LONG_PIECE))
  for (let at = 0; at < bytes.length - 1; at++)
    shifts[bytes[at] ?? 0] = Math.min(bytes.length - 1 - at, LONG_PIECE)
  return { bytes, shifts }
}

function placeOf({ bytes: piece, shifts }: Piece, bytes: Uint8Array, start: number, end: number): number {
  if (piece.length === 0) return start
  if (piece.length > LONG_PIECE) {
    const found = Buffer.from(bytes.buffer, bytes.byteOffset + start, end - start).indexOf(piece)
    return found === -1 ? -1 : start + found
  }
  for (let last = start + piece.length - 1; last < end; last += shifts[bytes[last] ?? 0] ?? 1)
    if (isAt(piece, bytes, last - piece.length + 1)) return last - piece.length + 1
  return -1
}

function isAt(piece: Uint8Array, bytes: Uint8Array, at: number): boolean {
  for (let i = 0; i < piece.length; i++) if (bytes[at + i] !== piece[i]) return false
  return true
}
