/** The classes that a method descriptor or signature names, by place. Primitive types name none. */
export interface MethodTypes {
  readonly parameters: readonly (readonly string[])[]
  readonly returns: readonly string[]
}

/** The classes in a field's descriptor or signature, each once; malformed text (JVMS does not check signatures) gives what it can. */
export function classesIn(text: string): readonly string[] {
  const found = new Set<string>()
  for (let at = 0; at < text.length;) at = readType(text, at, found)
  return [...found]
}

/** The classes in a method's descriptor or signature. */
export function methodTypes(text: string): MethodTypes {
  const open = text.indexOf('(')
  const parameters: (readonly string[])[] = []
  let at = open + 1
  while (at < text.length && text[at] !== ')') {
    const found = new Set<string>()
    at = readType(text, at, found)
    parameters.push([...found])
  }
  const returns = new Set<string>()
  readType(text, at + 1, returns)
  return { parameters, returns: [...returns] }
}

/** Type arguments deeper than this are no compiler's. */
const MAX_DEPTH = 64

/** Reads one type, adds the classes that it names, and returns where it ends; always goes on by at least one character. */
function readType(text: string, start: number, found: Set<string>, depth = 0): number {
  if (depth > MAX_DEPTH) return text.length
  let at = start
  while (text[at] === '[') at++
  if (text[at] === 'T') return end(text, text.indexOf(';', at))
  if (text[at] !== 'L') return at + 1
  let name = ''
  at++
  while (at < text.length) {
    const character = text[at]
    if (character === ';') {
      found.add(name)
      return at + 1
    }
    if (character === '<') {
      at++
      while (at < text.length && text[at] !== '>') {
        const isWildcard = text[at] === '*' || text[at] === '+' || text[at] === '-'
        at = isWildcard ? at + 1 : readType(text, at, found, depth + 1)
      }
      at++
    } else {
      // A class nested in a generic one: "Lcom/Outer<TT;>.Inner;".
      name += character === '.' ? '$' : character
      at++
    }
  }
  if (name !== '') found.add(name)
  return at
}

function end(text: string, semicolon: number): number {
  return semicolon === -1 ? text.length : semicolon + 1
}
