/** Is told the classes that a type names, internal names as bytes from `start` to `end`, which are valid during the call. */
export type Found = (bytes: Uint8Array, start: number, end: number) => void

/** Where a type stands in a method's signature: a parameter's number, from 0, or RETURN. */
export const RETURN = -1

const [OPEN, CLOSE, SEMICOLON, LESS, GREATER, BRACKET, DOT, DOLLAR, CLASS, VARIABLE] = Array.from(
  '();<>[.$LT',
  (character) => character.charCodeAt(0),
) as [number, number, number, number, number, number, number, number, number, number]
const WILDCARDS: readonly number[] = Array.from('*+-', (character) => character.charCodeAt(0))

/** The classes in a field's descriptor or signature; malformed text (JVMS does not check signatures) gives what it can. */
export function readField(bytes: Uint8Array, start: number, end: number, found: Found): void {
  for (let at = start; at < end;) at = readType(bytes, at, end, found)
}

/** The classes in a method's descriptor or signature, by place. Returns how many parameters it has. */
export function readMethod(
  bytes: Uint8Array,
  start: number,
  end: number,
  found: (place: number, ...name: Parameters<Found>) => void,
): number {
  let at = start
  while (at < end && bytes[at] !== OPEN) at++
  let place = 0
  const add: Found = (...name) => found(place, ...name)
  for (at++; at < end && bytes[at] !== CLOSE; place++) at = readType(bytes, at, end, add)
  const count = place
  place = RETURN
  if (at + 1 < end) readType(bytes, at + 1, end, add)
  return count
}

/** Type arguments deeper than this are no compiler's. */
const MAX_DEPTH = 64

/** Reads one type, tells the classes that it names, and returns where it ends; always goes on by at least one byte. */
function readType(bytes: Uint8Array, start: number, end: number, found: Found, depth = 0): number {
  if (depth > MAX_DEPTH) return end
  let at = start
  while (at < end && bytes[at] === BRACKET) at++
  if (at >= end) return at + 1
  if (bytes[at] === VARIABLE) return after(SEMICOLON, bytes, at, end)
  if (bytes[at] !== CLASS) return at + 1
  const name = ++at
  for (; at < end && bytes[at] !== LESS && bytes[at] !== DOT; at++) {
    if (bytes[at] !== SEMICOLON) continue
    if (at > name) found(bytes, name, at)
    return at + 1
  }
  return readNested(bytes, name, at, end, found, depth)
}

/** Names that are made of parts of a text, those of its type arguments above its own. */
let parts = new Uint8Array(1024)
let top = 0

/** Goes on with a name that has type arguments: a class nested in a generic one is "Lcom/Outer<TT;>.Inner;". */
function readNested(
  bytes: Uint8Array,
  start: number,
  rest: number,
  end: number,
  found: Found,
  depth: number,
): number {
  const name = top
  if (name + end - start > parts.length) parts = grown(parts, name + end - start)
  parts.set(bytes.subarray(start, rest), name)
  top += rest - start
  let at = rest
  for (; at < end && bytes[at] !== SEMICOLON; at++) {
    const byte = bytes[at] ?? 0
    if (byte !== LESS) {
      parts[top++] = byte === DOT ? DOLLAR : byte
      continue
    }
    at++
    while (at < end && bytes[at] !== GREATER) {
      at = WILDCARDS.includes(bytes[at] ?? 0) ? at + 1 : readType(bytes, at, end, found, depth + 1)
    }
  }
  if (top > name) found(parts, name, top)
  top = name
  return at + 1
}

function grown(bytes: Uint8Array, length: number): Uint8Array<ArrayBuffer> {
  const larger = new Uint8Array(2 * length)
  larger.set(bytes)
  return larger
}

function after(byte: number, bytes: Uint8Array, from: number, end: number): number {
  const at = bytes.indexOf(byte, from)
  return at === -1 || at >= end ? end : at + 1
}
