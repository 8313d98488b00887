const [QUOTE, BACKSLASH] = [0x22, 0x5c]
const [OPEN_OBJECT, CLOSE_OBJECT, OPEN_LIST, CLOSE_LIST] = [0x7b, 0x7d, 0x5b, 0x5d]

/** Nesting that JSON from outside may have (threat H5). */
export const MAX_JSON_DEPTH = 64

/** Whether JSON text is nested too deeply. */
export function isTooDeep(text: string): boolean {
  return depthOf(text) > MAX_JSON_DEPTH
}

function depthOf(text: string): number {
  if (!hasManyOpenings(text)) return 0
  let depth = 0
  let deepest = 0
  let inString = false
  for (let i = 0; i < text.length; i++) {
    const char = text.charCodeAt(i)
    if (inString) {
      if (char === BACKSLASH) i++
      else if (char === QUOTE) inString = false
    } else if (char === QUOTE) inString = true
    else if (char === OPEN_OBJECT || char === OPEN_LIST) deepest = Math.max(deepest, ++depth)
    else if (char === CLOSE_OBJECT || char === CLOSE_LIST) depth--
  }
  return deepest
}

/** Whether the text has more opening brackets than the maximum depth: a cheap check that most bodies pass. */
function hasManyOpenings(text: string): boolean {
  let openings = 0
  for (const char of '{[')
    for (let at = text.indexOf(char); at !== -1; at = text.indexOf(char, at + 1))
      if (++openings > MAX_JSON_DEPTH) return true
  return false
}
