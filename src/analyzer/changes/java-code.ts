/** Comments, and the literals that can contain what looks like one. */
const TOKENS =
  /\/\/[^\n]*|\/\*[\s\S]*?(?:\*\/|$)|"""(?:\\[\s\S]|[^\\])*?(?:"""|$)|"(?:\\.|[^"\\\n])*"?|'(?:\\.|[^'\\\n])*'?/g

/** Returns the lines of a Java file without comments and outer white space. */
export function codeLines(text: string): readonly string[] {
  const code = text
    .replaceAll('\r\n', '\n')
    .replaceAll(TOKENS, (token) => (token.startsWith('/') ? token.replaceAll(/[^\n]+/g, ' ') : token))
  return code.split('\n').map((line) => line.trim())
}

const IMPORT = /^import\s+(?:static\s+)?[\w.$]+\.([\w$]+)\s*;$/

/** Returns the simple name that a line imports; undefined if it is not such a line, or imports a whole package. */
export function importedName(line: string): string | undefined {
  return IMPORT.exec(line)?.[1]
}
