/** Called with the internal name of each class in a type, and its depth in type arguments. */
type OnClass = (name: string, depth: number) => void

/** Position of the return type in a method's signature; parameters count from 0. */
export const RETURN = -1

/**
 * Reads the classes in a field's descriptor or signature. Of malformed text, which JVMS allows in signatures,
 * it reads what it can.
 */
export function readField(text: string, found: OnClass): void {
  for (let at = 0; at < text.length;) at = readType(text, at, found)
}

/** Reads the classes in the bounds of the type parameters at the start of a signature. Returns their end. */
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

/** Reads the classes in the type arguments of a class's supertypes. */
export function readTypeArguments(signature: string, found: (name: string) => void): void {
  let at = readTypeParameters(signature, () => {})
  while (at < signature.length) {
    at = readType(signature, at, (name, depth) => {
      if (depth > 0) found(name)
    })
  }
}

/**
 * Reads the classes in a method's descriptor and, if it has one, its signature, in the order of positions.
 */
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

/** Splits a method's descriptor or signature into types. */
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
 * Returns the number of a descriptor's parameters before the first one of its signature, which omits
 * compiler-generated ones: an inner class's outer instance and an enum's name in front, a local class's
 * captured variables at the end.
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

/**
 * Whether a type of a signature erases to that of a descriptor (JLS §4.6); a type variable may erase to any
 * class.
 */
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

/** No compiler produces deeper type arguments. */
const MAX_DEPTH = 64

/** Reads one type, reports its classes, and returns its end; advances by at least one character. */
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

/** Continues a name with type arguments: a class nested in a generic one is "Lcom/Outer<TT;>.Inner;". */
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

/** Returns the length of the text if there is no such character. */
function indexOf(text: string, character: string, from: number): number {
  const at = text.indexOf(character, from)
  return at === -1 ? text.length : at
}
