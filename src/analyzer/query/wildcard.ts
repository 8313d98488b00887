/**
 * Returns a test for a pattern in which `*` matches any text; a pattern without it must equal the text. Takes
 * time proportional to the text for each piece between stars, for any pattern (threat A6).
 */
export function wildcard(pattern: string): (text: string) => boolean {
  const [first = '', ...rest] = pattern.split(/\*+/)
  const last = rest.pop()
  if (last === undefined) return (text) => text === pattern
  return (text) => {
    if (text.length < first.length + last.length || !text.startsWith(first) || !text.endsWith(last))
      return false
    const middle = text.slice(first.length, text.length - last.length)
    let at = 0
    for (const piece of rest) {
      const found = middle.indexOf(piece, at)
      if (found === -1) return false
      at = found + piece.length
    }
    return true
  }
}
