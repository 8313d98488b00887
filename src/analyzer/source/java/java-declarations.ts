import type { JavaNode } from './java-parser.ts'
import { dimensionsOf } from './java-type.ts'
import { VISIBILITIES, type VisibilityLevel } from './visibility.ts'

const TYPES = new Set([
  'class_declaration',
  'interface_declaration',
  'enum_declaration',
  'record_declaration',
  'annotation_type_declaration',
])
const METHODS = new Set(['method_declaration', 'annotation_type_element_declaration'])
const CONSTRUCTORS = new Set(['constructor_declaration', 'compact_constructor_declaration'])
const FIELDS = new Set(['field_declaration', 'constant_declaration', 'enum_constant'])

/** Whether a node declares a type. */
export const isTypeDeclaration = ({ type }: JavaNode): boolean => TYPES.has(type)
/** Whether a node declares a method or annotation element. */
export const isMethod = ({ type }: JavaNode): boolean => METHODS.has(type)
/** Whether a node declares a constructor. */
export const isConstructor = ({ type }: JavaNode): boolean => CONSTRUCTORS.has(type)
/** Whether a node declares a field or enum constant. */
export const isField = ({ type }: JavaNode): boolean => FIELDS.has(type)

/** Whether a node is a comment. */
export const isComment = ({ type }: JavaNode): boolean => type === 'block_comment' || type === 'line_comment'

/** Returns the name of a declaration. */
export function nameOf(declaration: JavaNode): string {
  return declaration.childForFieldName('name')?.text ?? ''
}

/** Returns the members of a class, or the top-level nodes of a file; an enum's constants come first. */
export function membersOf(holder: JavaNode): readonly JavaNode[] {
  const body = holder.type.endsWith('_body') || holder.type === 'program' ? holder : bodyOf(holder)
  return (body?.namedChildren ?? []).flatMap((child) =>
    child.type === 'enum_body_declarations' ? child.namedChildren : [child],
  )
}

/** Returns the body of a declaration. */
export function bodyOf(declaration: JavaNode): JavaNode | undefined {
  return declaration.childForFieldName('body') ?? undefined
}

/**
 * Returns a declaration up to its body or value, on one line, without annotations and comments.
 *
 * @example "public static <T> List<T> of(T... elements) throws IOException"
 */
export function headerOf(declaration: JavaNode): string {
  const body = bodyOf(declaration)
  const name = declaration.childForFieldName('name')
  let header = ''
  for (const child of declaration.children) {
    const isBody = body !== undefined && child.startIndex >= body.startIndex
    if (isBody || child.type === 'block' || child.type === 'argument_list') break
    if (child.type === ';' || isComment(child)) continue
    const isGlued =
      GLUED.has(child.type) ||
      (child.type === 'type_parameters' && (name?.startIndex ?? Infinity) < child.startIndex)
    header += (header === '' || isGlued || header.endsWith('@') ? '' : ' ') + wordsOf(child)
  }
  return header
}

const GLUED = new Set(['formal_parameters', 'dimensions', ','])

function wordsOf(child: JavaNode): string {
  if (child.type === 'modifiers')
    return child.children
      .filter(isWord)
      .map(({ text }) => text)
      .join(' ')
  return child.type === 'variable_declarator' ? nameOf(child) + dimensionsOf(child) : tightly(child)
}

const isWord = (node: JavaNode): boolean => !node.type.endsWith('annotation') && !isComment(node)

/** Returns a node's text without comments and with single spaces. */
function tightly(node: JavaNode): string {
  const cuts = node.descendantsOfType(['block_comment', 'line_comment'])
  let text = ''
  let at = node.startIndex
  for (const cut of cuts) {
    text += node.text.slice(at - node.startIndex, cut.startIndex - node.startIndex)
    at = cut.endIndex
  }
  return (text + node.text.slice(at - node.startIndex)).replaceAll(/\s+/g, ' ').trim()
}

/** Returns the documentation comments of a declaration: one block, or the lines of `///` before it. */
export function documentationOf(declaration: JavaNode): readonly JavaNode[] {
  const before = declaration.previousSibling
  if (before === null) return []
  if (before.type === 'block_comment') return before.text.startsWith('/**') ? [before] : []
  const lines: JavaNode[] = []
  for (let line: JavaNode | null = before; line !== null; line = line.previousSibling) {
    const next: JavaNode = lines[0] ?? declaration
    const isNext = line.startPosition.row === next.startPosition.row - 1
    if (line.type !== 'line_comment' || !line.text.startsWith('///') || !isNext) break
    lines.unshift(line)
  }
  return lines
}

/** Returns the declared visibility of a member; public by default in an interface. */
export function visibilityOf(member: JavaNode): VisibilityLevel {
  const modifiers = member.namedChildren.find(({ type }) => type === 'modifiers')
  const said = modifiers?.children.map(({ text }) => text) ?? []
  const own = VISIBILITIES.find((level) => said.includes(level))
  if (own !== undefined) return own
  const holder = member.parent?.type ?? ''
  return holder === 'interface_body' || holder === 'annotation_type_body' || member.type === 'enum_constant'
    ? 'public'
    : 'package'
}
