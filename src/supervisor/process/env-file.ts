/** An assignment; a quoted value may span lines, and `export` may precede it. */
const ASSIGNMENT =
  /[ \t]*(?:export[ \t]+)?([A-Za-z_][A-Za-z0-9_.]*)[ \t]*=[ \t]*(?:'([^']*)'[ \t]*(?:#.*)?$|"((?:[^"\\]|\\[^])*)"[ \t]*(?:#.*)?$|(.*)$)/my
/** A line without an assignment, or the rest of a line after one. */
const REST_OF_LINE = /[ \t]*(?:#.*)?$/my
/** A reference. The default is bounded: otherwise each reference without a closing brace would search the rest of the text. */
const REFERENCE =
  /\$(?:\$|\{([A-Za-z_][A-Za-z0-9_]{0,255})(?:(:?-)([^}]{0,1024}))?\}|([A-Za-z_][A-Za-z0-9_]*))/g

/**
 * Resolves `$NAME`, `${NAME}`, `${NAME:-default}` (also for an empty value) and `${NAME-default}`; `$$` is a dollar sign.
 * An unknown name is empty.
 */
export function interpolate(text: string, environment: Readonly<Record<string, string | undefined>>): string {
  if (!text.includes('$')) return text
  return text.replace(
    REFERENCE,
    (all, braced?: string, operator?: string, otherwise?: string, plain?: string) => {
      if (all === '$$') return '$'
      const value = environment[braced ?? plain ?? '']
      const isMissing = value === undefined || (operator === ':-' && value === '')
      return isMissing ? (otherwise ?? '') : value
    },
  )
}

/**
 * Parses an env file: `NAME=value` lines, comments after `#`, literal values in single quotes, others with references
 * resolved and, in double quotes, with `\n`, `\"` and `\\`. Quoted values may span lines.
 *
 * @throws Error that names the first invalid line
 */
export function parseEnvFile(
  content: string,
  environment: Readonly<Record<string, string>>,
): Readonly<Record<string, string>> {
  const values: Record<string, string> = Object.create(null)
  const text = content.replaceAll('\r\n', '\n')
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

function valueOf(
  double: string | undefined,
  plain: string,
  environment: Readonly<Record<string, string>>,
): string {
  if (double === undefined) return interpolate(plain.replace(/\s+#.*$/, '').trim(), environment)
  const unescaped = double.replace(/\\(.)/g, (_, char: string) =>
    char === 'n' ? '\n' : char === 't' ? '\t' : char,
  )
  return interpolate(unescaped, environment)
}
