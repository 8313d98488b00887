// Extracts the prose of a source file, keeping its position.
import { parseSync, Visitor } from 'rolldown/utils'

/** A declared name with its position. */
interface DeclaredName {
  readonly name: string
  readonly offset: number
}

/** Prose and declared names of a source file. */
export interface SourceProse {
  /** Has the length of the source; everything except prose is blank, so that lines and columns stay the same. */
  readonly text: string
  readonly names: readonly DeclaredName[]
  /** Offsets of documentation comments that start with "What". */
  readonly whatDocs: readonly number[]
}

interface Node {
  readonly type: string
  readonly start: number
  readonly end: number
}

/** Returns the prose of a TypeScript or JavaScript file. @throws Error when it does not parse. */
export function proseOfScript(file: string, source: string): SourceProse {
  const { program, comments, errors } = parseSync(file, source)
  if (errors.length > 0) throw new Error(`${file} does not parse: ${errors[0]?.message}`)
  const spans: [number, number][] = []
  const names: DeclaredName[] = []
  const whatDocs: number[] = []
  for (const { type, value, start, end } of comments) {
    spans.push([start + 2, type === 'Block' ? end - 2 : end])
    if (type === 'Block' && /^\*\s*(?:\* )?What /.test(value)) whatDocs.push(start)
  }
  const declare = (pattern: unknown): void => {
    for (const { name, start } of bound(pattern)) names.push({ name, offset: start })
  }
  const member = (node: { readonly key: Node; readonly computed: boolean }): void => {
    if (!node.computed && node.key.type === 'Identifier') declare(node.key)
  }
  new Visitor({
    Literal: (node) => {
      if (typeof node.value === 'string' && isProse(node.value)) spans.push([node.start + 1, node.end - 1])
    },
    TemplateElement: (node) => {
      spans.push([node.start, node.end])
    },
    JSXText: (node) => {
      spans.push([node.start, node.end])
    },
    VariableDeclarator: (node) => declare(node.id),
    FunctionDeclaration: (node) => {
      declare(node.id)
      node.params.forEach(declare)
    },
    ArrowFunctionExpression: (node) => node.params.forEach(declare),
    FunctionExpression: (node) => node.params.forEach(declare),
    ClassDeclaration: (node) => declare(node.id),
    TSTypeAliasDeclaration: (node) => declare(node.id),
    TSInterfaceDeclaration: (node) => declare(node.id),
    MethodDefinition: member,
    PropertyDefinition: member,
    TSPropertySignature: member,
    TSMethodSignature: member,
  }).visit(program)
  return { text: onlySpans(source, spans), names, whatDocs }
}

/** Returns the comments of a C++ header or source file as prose; its few strings are covered by tests. */
export function proseOfCpp(source: string): SourceProse {
  const spans: [number, number][] = []
  const token = /"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*'|\/\/([^\n]*)|\/\*([^]*?)\*\//g
  for (const found of source.matchAll(token)) {
    if (found[1] !== undefined) spans.push([found.index + 2, found.index + found[0].length])
    if (found[2] !== undefined) spans.push([found.index + 2, found.index + found[0].length - 2])
  }
  return { text: onlySpans(source, spans), names: [], whatDocs: [] }
}

/** Returns the comments of a shell script as prose. */
export function proseOfShell(source: string): SourceProse {
  const spans = [...source.matchAll(/(?<=^|\s)#(?!!)[^\n]*/g)].map((found): [number, number] => [
    found.index + 1,
    found.index + found[0].length,
  ])
  return { text: onlySpans(source, spans), names: [], whatDocs: [] }
}

/** Whether a string is prose: it contains two words, unlike paths, keys and patterns. */
function isProse(text: string): boolean {
  return /[A-Za-z]{2,} [A-Za-z(]/.test(text)
}

/** Returns the identifiers that a declaration or pattern introduces. */
function bound(pattern: unknown): { readonly name: string; readonly start: number }[] {
  if (pattern === null || typeof pattern !== 'object') return []
  const node = pattern as Record<string, unknown> & { readonly type: string; readonly start: number }
  switch (node.type) {
    case 'Identifier':
      return [{ name: String(node['name']), start: node.start }]
    case 'ObjectPattern':
      return (node['properties'] as { value?: unknown; argument?: unknown }[]).flatMap((p) =>
        bound(p.value ?? p.argument),
      )
    case 'ArrayPattern':
      return (node['elements'] as unknown[]).flatMap(bound)
    case 'AssignmentPattern':
      return bound(node['left'])
    case 'RestElement':
      return bound(node['argument'])
    default:
      return []
  }
}

/** Blanks everything outside the spans, and code in backticks inside them. */
function onlySpans(source: string, spans: readonly (readonly [number, number])[]): string {
  const blank = source.replaceAll(/[^\n]/g, ' ')
  let text = ''
  let at = 0
  for (const [start, end] of spans.toSorted((a, b) => a[0] - b[0])) {
    if (start < at) continue
    text += blank.slice(at, start)
    text += source
      .slice(start, end)
      .replaceAll(/`[^`\n]*`/g, (code) => ' '.repeat(code.length))
      .replaceAll(/[`${}]/g, ' ')
    at = end
  }
  return text + blank.slice(at)
}
