/** A name with a value; `export` before it is a shell's. */
const ASSIGNMENT = /^\s*(?:export\s+)?([A-Za-z_][A-Za-z0-9_.]*)\s*=\s*(.*)$/
/** The text after `-` is bounded: without a closing brace each reference would otherwise search all that follows. */
const REFERENCE =
  /\$(?:\$|\{([A-Za-z_][A-Za-z0-9_]{0,255})(?:(:?-)([^}]{0,1024}))?\}|([A-Za-z_][A-Za-z0-9_]*))/g

/**
 * Resolves `$NAME`, `${NAME}`, `${NAME:-otherwise}` (also for an empty value) and `${NAME-otherwise}`; `$$` is a dollar sign.
 * An unknown name is nothing.
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
 * Reads an env file: `NAME=value` lines, comments behind `#`, values in single quotes as they are, others with references
 * resolved and, in double quotes, with `\n`, `\"` and `\\`.
 *
 * @throws an Error that names the first line that is none of these
 */
export function parseEnvFile(
  content: string,
  environment: Readonly<Record<string, string>>,
): Readonly<Record<string, string>> {
  const values: Record<string, string> = Object.create(null)
  for (const [index, line] of content.split(/\r?\n/).entries()) {
    if (/^\s*(?:#|$)/.test(line)) continue
    const [, name, raw = ''] = ASSIGNMENT.exec(line) ?? []
    if (name === undefined) throw new Error(`line ${index + 1} is no NAME=value`)
    values[name] = valueOf(raw, { ...environment, ...values })
  }
  return values
}

function valueOf(raw: string, environment: Readonly<Record<string, string>>): string {
  const [, single] = /^'([^']*)'\s*(?:#.*)?$/.exec(raw) ?? []
  if (single !== undefined) return single
  const [, double] = /^"((?:[^"\\]|\\.)*)"\s*(?:#.*)?$/.exec(raw) ?? []
  if (double === undefined) return interpolate(raw.replace(/\s+#.*$/, '').trim(), environment)
  const unescaped = double.replace(/\\(.)/g, (_, char: string) =>
    char === 'n' ? '\n' : char === 't' ? '\t' : char,
  )
  return interpolate(unescaped, environment)
}
