/** An assignment; a quoted value may span lines, and `export` may precede it. */
const ASSIGNMENT =
  /[ \t]*(?:export[ \t]+)?([A-Za-z_][A-Za-z0-9_.]*)[ \t]*=[ \t]*(?:'([^']*)'[ \t]*(?:#.*)?$|"((?:[^"\\]|\\[^])*)"[ \t]*(?:#.*)?$|(.*)$)/my
/** A line without an assignment, or the rest of a line after one. */
const REST_OF_LINE = /[ \t]*(?:#.*)?$/my
/**
 * A reference, whose default may have references without such. The default is bounded: otherwise each reference without a
 * closing brace would search the rest of the text.
 */
const REFERENCE =
  /\$(?:\$|\{([A-Za-z_][A-Za-z0-9_]{0,255})(?:(:?-)((?:\$\{[^{}]{0,1024}\}|[^}]){0,1024}))?\}|([A-Za-z_][A-Za-z0-9_]*))/g

/** Characters that are written with a backslash in double quotes; others stand for themselves. */
const ESCAPES: Readonly<Record<string, string>> = { n: '\n', t: '\t' }
/** An escaped character, or a reference. */
const ESCAPED_OR_REFERENCE = new RegExp(String.raw`\\([^])|${REFERENCE.source}`, 'g')

type Variables = Readonly<Record<string, string | undefined>>

/**
 * Resolves `$NAME`, `${NAME}`, `${NAME:-default}` (also for an empty value) and `${NAME-default}`, whose default may have
 * references, too; `$$` is a dollar sign. An unknown name is empty.
 */
export function interpolate(text: string, environment: Variables): string {
  if (!text.includes('$')) return text
  return text.replace(REFERENCE, (all, ...reference: readonly (string | undefined)[]) =>
    all === '$$' ? '$' : resolve(reference, environment, (otherwise) => interpolate(otherwise, environment)),
  )
}

/** Returns the names of variables that a text refers to without a default. */
export function referencesOf(text: string): readonly string[] {
  const found = [...text.matchAll(REFERENCE)].flatMap(([, braced, operator, , plain]) => {
    const name = braced ?? plain
    return name === undefined || operator !== undefined ? [] : [name]
  })
  return [...new Set(found)]
}

/** Returns the value of a reference, from its name in braces, operator, default, and name without braces. */
function resolve(
  [braced, operator, otherwise = '', plain = '']: readonly (string | undefined)[],
  environment: Variables,
  resolved: (otherwise: string) => string,
): string {
  const value = environment[braced ?? plain]
  const isMissing = value === undefined || (operator === ':-' && value === '')
  return isMissing ? resolved(otherwise) : value
}

/**
 * Parses an env file: `NAME=value` lines, comments after `#`, literal values in single quotes, others with references
 * resolved and `\$` for a dollar sign and, in double quotes, with `\n`, `\t`, `\"` and `\\`. Quoted values may span lines.
 *
 * @throws Error that names the first invalid line
 */
export function parseEnvFile(
  content: string,
  environment: Readonly<Record<string, string>>,
): Readonly<Record<string, string>> {
  const values: Record<string, string> = Object.create(null)
  const text = content.replace(/^\uFEFF/, '').replaceAll('\r\n', '\n')
  for (let at = 0; at < text.length; at++) {
    const match = matchAt(REST_OF_LINE, text, at) ?? matchAt(ASSIGNMENT, text, at)
    if (match === null)
      throw new Error(`line ${text.slice(0, at).split('\n').length} is not of the form NAME=value`)
    const [all, name, single, double, plain = ''] = match
    if (name !== undefined) values[name] = single ?? valueOf(double, plain, { ...environment, ...values })
    at += all.length
  }
  return values
}

function matchAt(pattern: RegExp, text: string, at: number): RegExpExecArray | null {
  pattern.lastIndex = at
  return pattern.exec(text)
}

function valueOf(double: string | undefined, plain: string, environment: Variables): string {
  if (double !== undefined) return expand(double, environment, (char) => ESCAPES[char] ?? char)
  const text = plain.replace(/\s+#.*$/, '').trim()
  return expand(text, environment, (char) => (char === '$' ? '$' : `\\${char}`))
}

/** Resolves references and escaped characters together: an escaped dollar sign begins no reference. `$$` is text. */
function expand(text: string, environment: Variables, unescaped: (char: string) => string): string {
  return text.replace(
    ESCAPED_OR_REFERENCE,
    (all, char: string | undefined, ...reference: readonly (string | undefined)[]) => {
      if (char !== undefined) return unescaped(char)
      if (all === '$$') return all
      return resolve(reference, environment, (otherwise) => expand(otherwise, environment, unescaped))
    },
  )
}
