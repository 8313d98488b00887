import type { ImportSpecifier } from 'es-module-lexer'

/** Global function of the interpreter that imports a module; see `javascript-runner.ts`. */
const IMPORT = 'globalThis[Symbol.for("workspace.code.import")]'
/** Limits of what is rewritten, because the server computes meanwhile. */
const MAX_CODE_LENGTH = 2 ** 20
const MAX_CLAUSES_LENGTH = 20_000
/** Types of imports, which the library declares, but does not export. */
const STATIC = 1
const DYNAMIC = 2
/** Length of the keyword `import`. */
const KEYWORD = 6

const NAME = String.raw`[\p{ID_Continue}$\u200c\u200d]+`
const CLAUSE = new RegExp(
  String.raw`^(?:(?<main>${NAME})\s*,?\s*)?(?:\*\s*as\s+(?<all>${NAME})|\{(?<some>[^}]*)\})?\s*from$`,
  'u',
)
const BINDING = new RegExp(String.raw`^(?<name>${NAME})(?:\s+as\s+(?<local>${NAME}))?$`, 'u')

/**
 * Rewrites the imports of JavaScript code for an interpreter that runs scripts: declarations become `await` of a function of the
 * interpreter, in the same line, and `import()` its call. Code that it does not understand is returned unchanged; the interpreter
 * then reports why.
 */
export async function withImports(code: string): Promise<string> {
  if (code.length > MAX_CODE_LENGTH || !/\bimport\b/.test(code)) return code
  // The build without `eval`: the code is untrusted.
  const { parse } = await import('es-module-lexer/js')
  const pieces: string[] = []
  let end = 0
  try {
    const [imports] = parse(code)
    const clauses = imports.reduce((sum, each) => sum + (isType(each, STATIC) ? each.s - each.ss : 0), 0)
    if (clauses > MAX_CLAUSES_LENGTH) return code
    for (const each of imports.toSorted((one, other) => one.ss - other.ss)) {
      const { text, to } = replacementOf(code, each)
      pieces.push(code.slice(end, each.ss), text)
      end = to
    }
  } catch {
    return code
  }
  return [...pieces, code.slice(end)].join('')
}

function replacementOf(code: string, found: ImportSpecifier): { readonly text: string; readonly to: number } {
  const { ss: start, se: end, s: from, e: to, a: attributes } = found
  if (isType(found, DYNAMIC)) return { text: IMPORT, to: start + KEYWORD }
  if (!isType(found, STATIC) || !code.startsWith('import', start)) throw new Error('not supported')
  const module = code.slice(from - 1, to + 1)
  const options = attributes === -1 ? '{}' : `{ with: ${code.slice(attributes, end)} }`
  const clause = plain(code.slice(start + KEYWORD, from - 1))
  const lines = code.slice(start, end).split('\n').length - 1
  return { text: declaration(clause, `${module}, ${options}`) + '\n'.repeat(lines), to: end }
}

function isType({ t: type }: { readonly t: number }, wanted: number): boolean {
  return type === wanted
}

/** Returns the statement for an import declaration, without its first keyword. */
function declaration(clause: string, parameters: string): string {
  if (clause === '') return `void (await ${IMPORT}([], ${parameters}));`
  const { main, all, some } = CLAUSE.exec(clause)?.groups ?? {}
  if (main === undefined && all === undefined && some === undefined) throw new Error('not a clause')
  const bindings = [
    ...(main === undefined ? [] : [{ name: 'default', local: main }]),
    ...(some ?? '')
      .split(',')
      .map((part) => part.trim())
      .filter(Boolean)
      .map(bindingOf),
  ]
  const pattern = `{ ${bindings.map(({ name, local }) => `${name}: ${local}`).join(', ')} }`
  const names = bindings.map(({ name }) => `"${name}"`).join(', ')
  const imported = `await ${IMPORT}([${names}], ${parameters})`
  if (all === undefined) return `const ${pattern} = ${imported};`
  return `const ${all} = ${imported}${bindings.length === 0 ? '' : `, ${pattern} = ${all}`};`
}

function bindingOf(text: string): { readonly name: string; readonly local: string } {
  const { name, local = name } = BINDING.exec(text)?.groups ?? {}
  if (name === undefined || local === undefined) throw new Error('not a binding')
  return { name, local }
}

/** Removes comments and repeated white space, for which patterns would take quadratic time. */
function plain(text: string): string {
  return text
    .replaceAll(/\/\*[^]*?\*\/|\/\/.*/g, ' ')
    .replaceAll(/\s+/g, ' ')
    .trim()
}
