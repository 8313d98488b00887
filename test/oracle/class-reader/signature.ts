const MAX_DEPTH = 64
const endOfName = /[.;<]/g

/**
 * Returns the class names in a signature (JVMS §4.7.9.1), including type arguments and bounds; an inner class
 * has its binary name, "java/util/Map$Entry". The JVM never checks signatures: of one that is malformed or
 * nested deeper than 64, returns the names found so far.
 */
export function classesOfSignature(signature: string): readonly string[] {
  const found: string[] = []
  const open: string[] = []
  let at = 0

  const close = (): boolean => {
    at++
    const name = open.pop() ?? ''
    if (name !== '') found.push(name)
    return true
  }
  const append = (text: string) => {
    open[open.length - 1] += text
  }
  const name = (): boolean => {
    for (;;) {
      endOfName.lastIndex = at
      const end = endOfName.exec(signature)?.index
      if (end === undefined) return false
      append(signature.slice(at, end))
      at = end
      if (signature[at] === ';') return close()
      if (signature[at++] === '<') return true
      append('$')
    }
  }
  /** Reads up to the next name's start, end, or list of arguments. */
  const step = (): boolean => {
    while (signature[at] === '[' || signature[at] === '+' || signature[at] === '-') at++
    const first = signature[at++]
    switch (first) {
      case undefined:
        return false
      case 'L':
        if (open.length === MAX_DEPTH) return false
        open.push('')
        return name()
      case 'T': {
        const end = signature.indexOf(';', at)
        at = end + 1
        return end >= 0
      }
      case '>':
        if (open.length === 0) return false
        if (signature[at] === ';') return close()
        if (signature[at] !== '.') return false
        append('$')
        at++
        return name()
      default:
        return 'BCDFIJSZV*'.includes(first)
    }
  }
  /** Reads one type with nested types; false without one. */
  const type = (): boolean => {
    do {
      if (!step()) return false
    } while (open.length > 0)
    return true
  }

  if (signature.startsWith('<')) {
    at = 1
    // Identifier ':' bound {':' bound}, until '>'; an identifier may hold an L.
    while (at < signature.length && signature[at] !== '>') {
      at = signature.indexOf(':', at)
      if (at < 0) return found
      while (signature[at] === ':') {
        at++
        if (signature[at] !== ':' && !type()) return found
      }
    }
    at++
  }
  while (at < signature.length) {
    if ('()^'.includes(signature[at] ?? '')) at++
    else if (!type()) break
  }
  return found
}
