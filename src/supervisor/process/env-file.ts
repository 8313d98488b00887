import { expand, type Notation, type Variables } from './interpolate.ts'

/** An assignment; a quoted value may span lines, and `export` may precede it. */
const ASSIGNMENT =
  /[ \t]*(?:export[ \t]+)?([A-Za-z_][A-Za-z0-9_.]*)[ \t]*=[ \t]*(?:'([^']*)'[ \t]*(?:#.*)?$|"((?:[^"\\]|\\[^])*)"[ \t]*(?:#.*)?$|(.*)$)/my
/** A line without an assignment, or the rest of a line after one. */
const REST_OF_LINE = /[ \t]*(?:#.*)?$/my

/** Text in double quotes: the escapes of a shell, and three of dotenv and docker compose. Other backslashes are text. */
const QUOTED: Notation = {
  dollars: '$$',
  escapes: { $: '$', '"': '"', '`': '`', '\n': '', n: '\n', r: '\r', t: '\t' },
  pairs: 'everywhere',
}
/** Text without quotes. Backslashes are text, as in `C:\dir` and `\\host`, but before a dollar sign. */
const PLAIN: Notation = { dollars: '$$', escapes: { $: '$' }, pairs: 'before escapes' }

/**
 * Parses an env file: `NAME=value` lines, comments after `#`, literal values in single quotes, others with references
 * resolved. In double quotes, `\$`, `\"`, `` \` ``, `\\`, `\n`, `\r` and `\t` are escapes, and a backslash joins two lines.
 * Without quotes, `\$` is a dollar sign, and `\\` before one a backslash. Quoted values may span lines.
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
  if (double !== undefined) return expand(double, environment, QUOTED)
  return expand(plain.replace(/\s+#.*$/, '').trim(), environment, PLAIN)
}
