/** Is told a class that a type names, its internal name, and in how many types it is an argument. */
type OnClass = (name: string, depth: number) => void

/** Where a type stands in a method's signature: a parameter's number, from 0, or RETURN. */
export const RETURN = -1

/** The classes in a field's descriptor or signature; malformed text (JVMS does not check signatures) gives what it can. */
export function readField(text: string, found: OnClass): void {
  for (let at = 0; at < text.length;) at = readType(text, at, found)
}

/** The classes in the bounds of the type parameters that a signature begins with. Returns where they end. */
export function readTypeParameters(signature: string, found: OnClass): number {
  if (!signature.startsWith('<')) return 0
  // Identifier ':' bound {':' bound}, until '>'; the first bound may be missing.
  let at = 1
  while (at < signature.length && signature[at] !== '>') {
    at = indexOf(signature, ':', at)
    while (signature[at] === ':') {
      at++
      if (at < signature.length && signature[at] !== ':') at = readType(signature, at, found)
    }
  }
  return Math.min(at + 1, signature.length)
}

/** The classes in the type arguments of a class's supertypes. */
export function readTypeArguments(signature: string, found: (name: string) => void): void {
  let at = readTypeParameters(signature, () => {})
  while (at < signature.length) {
    at = readType(signature, at, (name, depth) => {
      if (depth > 0) found(name)
    })
  }
}

/** The classes in a method's descriptor and, where it has one, its signature; places in order. */
export function readMethod(
  descriptorText: string,
  signatureText: string | undefined,
  found: (position: number, name: string) => void,
): void {
  const descriptor = splitMethod(descriptorText)
  const signature = splitMethod(signatureText ?? '')
  const first = signatureText === undefined ? 0 : firstOfSignature(descriptor, signature)
  for (const [position, type] of descriptor.parameters.entries()) {
    for (const each of [type, signature.parameters[position - first]]) {
      if (each !== undefined) readField(each, (name) => found(position, name))
    }
  }
  for (const each of [descriptor.returns, signature.returns]) readField(each, (name) => found(RETURN, name))
}

interface MethodText {
  readonly parameters: readonly string[]
  readonly returns: string
}

/** The types in a method's descriptor or signature. */
export function splitMethod(text: string): MethodText {
  const parameters: string[] = []
  let at = indexOf(text, '(', 0) + 1
  while (at < text.length && text[at] !== ')') {
    const end = readType(text, at, () => {})
    parameters.push(text.slice(at, end))
    at = end
  }
  const end = at + 1 < text.length ? readType(text, at + 1, () => {}) : at + 1
  return { parameters, returns: text.slice(at + 1, end) }
}

/**
 * How many of a descriptor's parameters stand before the first of its signature, which leaves out those that the compiler
 * added: an inner class's outer instance and an enum's name in front, a local class's captured variables behind.
 */
function firstOfSignature(descriptor: MethodText, signature: MethodText): number {
  const count = descriptor.parameters.length
  for (let first = count - signature.parameters.length; first >= 0; first--) {
    const isSame = signature.parameters.every((type, at) =>
      erasesTo(type, descriptor.parameters[first + at] ?? ''),
    )
    if (isSame) return first
  }
  return count
}

/** Whether a type of a signature becomes that of a descriptor (JLS §4.6); a type variable may become any class. */
function erasesTo(type: string, erased: string): boolean {
  let to = 0
  let depth = 0
  for (let at = 0; at < type.length; at++) {
    const character = type[at]
    if (character === 'T' && (at === 0 || type[at - 1] === '[') && to === at) return erased[to] === 'L'
    if (character === '<') depth++
    if (depth === 0 && erased[to++] !== (character === '.' ? '$' : character)) return false
    if (character === '>') depth--
  }
  return to === erased.length
}

/** Type arguments deeper than this are no compiler's. */
const MAX_DEPTH = 64

/** Reads one type, tells the classes that it names, and returns where it ends; always goes on by at least one character. */
function readType(text: string, start: number, found: OnClass, depth = 0): number {
  if (depth > MAX_DEPTH) return text.length
  let at = start
  while (text[at] === '[') at++
  if (text[at] === 'T') return Math.min(indexOf(text, ';', at) + 1, text.length)
  if (text[at] !== 'L') return at + 1
  const name = ++at
  for (; at < text.length && text[at] !== '<' && text[at] !== '.'; at++) {
    if (text[at] !== ';') continue
    if (at > name) found(text.slice(name, at), depth)
    return at + 1
  }
  return readNested(text, name, at, found, depth)
}

/** Goes on with a name that has type arguments: a class nested in a generic one is "Lcom/Outer<TT;>.Inner;". */
function readNested(text: string, start: number, rest: number, found: OnClass, depth: number): number {
  let name = text.slice(start, rest)
  let at = rest
  for (; at < text.length && text[at] !== ';'; at++) {
    if (text[at] !== '<') {
      name += text[at] === '.' ? '$' : (text[at] ?? '')
      continue
    }
    at++
    while (at < text.length && text[at] !== '>') {
      at = '*+-'.includes(text[at] ?? '') ? at + 1 : readType(text, at, found, depth + 1)
    }
  }
  if (name !== '') found(name, depth)
  return at + 1
}

/** The length of the text where there is none. */
function indexOf(text: string, character: string, from: number): number {
  const at = text.indexOf(character, from)
  return at === -1 ? text.length : at
}
