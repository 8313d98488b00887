/** Backslashes with the character after them, or the begin of a reference, up to its default. */
const TOKEN = /(\\+)([^]?)|\$(?:\$|\{([A-Za-z_][A-Za-z0-9_]{0,255})(?:\}|(:?-))|([A-Za-z_][A-Za-z0-9_]*))/g
/** Limit of a default's length: otherwise each one without a closing brace would search the rest of the text. */
const MAX_DEFAULT_LENGTH = 1_024

/** Variables by name. */
export type Variables = Readonly<Record<string, string | undefined>>

/** How a text is written. */
export interface Notation {
  /** Text that is written as `$$`. */
  readonly dollars: string
  /** Characters that are written with a backslash in front, and what they stand for. */
  readonly escapes: Readonly<Record<string, string>>
  /** Where `\\` is a backslash: everywhere, or only before one of these characters, with any number of pairs. */
  readonly pairs: 'everywhere' | 'before escapes'
}

/** A reference to a variable. */
interface Reference {
  readonly name: string
  /** `:-` applies the default to an empty value, too. */
  readonly operator: string | undefined
  readonly otherwise: string
}

/** Notation of values in a configuration, in which a backslash is text. */
const CONFIGURED: Notation = { dollars: '$', escapes: {}, pairs: 'before escapes' }

/**
 * Resolves `$NAME`, `${NAME}`, `${NAME:-default}` (also for an empty value) and `${NAME-default}`; `$$` is a dollar sign.
 * An unknown name is empty. References in a default are resolved, too.
 */
export function interpolate(text: string, environment: Variables): string {
  return expand(text, environment, CONFIGURED)
}

/** Resolves references and escaped characters together: an escaped dollar sign begins no reference. */
export function expand(text: string, environment: Variables, notation: Notation): string {
  let expanded = ''
  for (const part of partsOf(text, notation))
    expanded += typeof part === 'string' ? part : resolve(part, environment, notation)
  return expanded
}

/** Returns the names of variables that a text refers to without a default, and outside of defaults. */
export function referencesOf(text: string): readonly string[] {
  const found = [...partsOf(text, CONFIGURED)].flatMap((part) =>
    typeof part === 'string' || part.operator !== undefined ? [] : [part.name],
  )
  return [...new Set(found)]
}

function resolve(
  { name, operator, otherwise }: Reference,
  environment: Variables,
  notation: Notation,
): string {
  const value = environment[name]
  if (value !== undefined && !(operator === ':-' && value === '')) return value
  // As in a shell, an escaped brace does not end the default.
  const escapes = hasEscapes(notation) ? { ...notation.escapes, '}': '}' } : notation.escapes
  return expand(otherwise, environment, { ...notation, escapes })
}

/** Returns the literal parts of a text, without their escapes, and its references. */
function* partsOf(text: string, notation: Notation): Generator<string | Reference> {
  let at = 0
  for (;;) {
    TOKEN.lastIndex = at
    const match = TOKEN.exec(text)
    if (match === null) return yield text.slice(at)
    yield text.slice(at, match.index)
    const [token, backslashes, next = '', braced, operator, plain = ''] = match
    at = match.index + token.length
    if (backslashes !== undefined) {
      const [written, isNextEscaped] = unescape(backslashes, next, notation)
      yield written
      if (!isNextEscaped) at -= next.length
    } else if (token === '$$') yield notation.dollars
    else if (operator === undefined) yield { name: braced ?? plain, operator, otherwise: '' }
    else {
      const length = lengthOfDefault(text.slice(at, at + MAX_DEFAULT_LENGTH + 1), notation)
      if (length === undefined) yield token
      else yield { name: braced ?? plain, operator, otherwise: text.slice(at, at + length) }
      at += length === undefined ? 0 : length + 1
    }
  }
}

/** Returns what backslashes and the character after them stand for, and whether they escape it. */
function unescape(
  backslashes: string,
  next: string,
  { escapes, pairs }: Notation,
): readonly [written: string, isNextEscaped: boolean] {
  const escaped = Object.hasOwn(escapes, next) ? escapes[next] : undefined
  if (escaped === undefined && pairs === 'before escapes') return [backslashes, false]
  const half = backslashes.slice(0, backslashes.length / 2)
  if (backslashes.length % 2 === 0) return [half, false]
  return escaped === undefined ? [`${half}\\`, false] : [half + escaped, true]
}

/** Returns the number of characters before the brace that closes a default; undefined if there is none. */
function lengthOfDefault(text: string, notation: Notation): number | undefined {
  let depth = 1
  for (const { 0: token, index } of text.matchAll(hasEscapes(notation) ? /\\[^]|\$[${]|\}/g : /\$[${]|\}/g)) {
    if (token === '${') depth++
    else if (token === '}') depth--
    if (depth === 0) return index
  }
  return undefined
}

function hasEscapes({ escapes }: Notation): boolean {
  return Object.keys(escapes).length > 0
}
