/**
 * A test for a pattern in which `*` stands for any text. Takes time in proportion to the text for each piece between the
 * stars, whatever the pattern (threat A6). Without a star the text must be the pattern.
 */
export function wildcard(pattern: string): (text: string) => boolean {
  const [first = '', ...rest] = pattern.split(/\*+/)
  if (rest.length === 0) return (text) => text === pattern
  const last = rest.pop() ?? ''
  return (text) => {
    if (!text.startsWith(first)) return false
    let at = first.length
    for (const piece of rest) {
      const found = text.indexOf(piece, at)
      if (found === -1) return false
      at = found + piece.length
    }
    return text.length - last.length >= at && text.endsWith(last)
  }
}
