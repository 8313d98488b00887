import { documentationOf, headerOf, isConstructor, isMethod, membersOf, nameOf } from './java-declarations.ts'
import type { JavaNode } from './java-parser.ts'
import { isSameType, parameterTypes, typeVariables } from './java-type.ts'

/** A method in a text. Lines count from 1. */
export interface MethodText {
  readonly signature: string
  readonly content: string
  /** Start of its documentation or annotations. */
  readonly startLine: number
  readonly endLine: number
  readonly contextBefore: string
  readonly contextAfter: string
}

/** Selects methods of a class. */
export interface MethodQuery {
  /** "<init>" or the class's simple name for constructors; "<clinit>" for static initializers. */
  readonly name: string
  /** Result of `parseParameterTypes`; undefined for all overloads. */
  readonly parameterTypes: readonly string[] | undefined
  /** Number of context lines before and after. */
  readonly contextLines: number
}

/** Returns the matching declarations of a class, in the order of the text. */
export function findMethods(text: string, type: JavaNode, query: MethodQuery): readonly MethodText[] {
  const lines = text.split('\n')
  const simpleName = nameOf(type)
  return membersOf(type)
    .filter(
      (member) => isNamed(member, query.name, simpleName) && hasTypes(member, type, query.parameterTypes),
    )
    .map((member) => methodText(lines, member, query.contextLines))
}

function isNamed(member: JavaNode, wanted: string, simpleName: string): boolean {
  if (isConstructor(member)) return wanted === '<init>' || wanted === simpleName
  if (member.type === 'static_initializer') return wanted === '<clinit>'
  return isMethod(member) && nameOf(member) === wanted
}

function hasTypes(member: JavaNode, type: JavaNode, wanted: readonly string[] | undefined): boolean {
  if (wanted === undefined) return true
  // A compact constructor has the parameters of the record.
  const declared = parameterTypes(member.type === 'compact_constructor_declaration' ? type : member)
  const variables = new Map([...variablesAround(type), ...typeVariables(member)])
  return (
    declared.length === wanted.length &&
    declared.every((each, place) => {
      const given = wanted[place] ?? ''
      return isSameType(given, each) || isSameType(given, erasure(each, variables))
    })
  )
}

function variablesAround(type: JavaNode): ReadonlyMap<string, string> {
  const around: [string, string][] = []
  for (let node: JavaNode | null = type; node !== null; node = node.parent)
    around.unshift(...typeVariables(node))
  return new Map(around)
}

/** Returns the erasure of a type that may be a variable or an array of variables. */
function erasure(type: string, variables: ReadonlyMap<string, string>): string {
  const bracket = type.indexOf('[')
  const name = bracket === -1 ? type : type.slice(0, bracket)
  const rest = bracket === -1 ? '' : type.slice(bracket)
  let bound = name
  const seen = new Set<string>()
  for (let next = variables.get(bound); next !== undefined && !seen.has(bound); next = variables.get(bound)) {
    seen.add(bound)
    bound = next
  }
  return bound + rest
}

function methodText(lines: readonly string[], member: JavaNode, contextLines: number): MethodText {
  const [first = member] = documentationOf(member)
  const start = first.startPosition.row
  const end = member.endPosition.row
  return {
    signature: headerOf(member),
    content: lines.slice(start, end + 1).join('\n'),
    startLine: start + 1,
    endLine: end + 1,
    contextBefore: lines.slice(Math.max(0, start - contextLines), start).join('\n'),
    contextAfter: lines.slice(end + 1, end + 1 + contextLines).join('\n'),
  }
}

/** Parses "int, java.util.Map<K, V>, String..." to erased types; "()" means none. */
export function parseParameterTypes(text: string): readonly string[] {
  const types: string[] = []
  let type = ''
  let depth = 0
  for (const letter of text) {
    if (letter === '<') depth++
    else if (letter === '>') depth--
    else if (letter === ',' && depth === 0) {
      types.push(type)
      type = ''
    } else if (depth === 0) type += letter
  }
  const all = [...types, type].map((each) =>
    each
      .replaceAll(/\s/g, '')
      .replace(/\.\.\.$/, '[]')
      .replaceAll('$', '.'),
  )
  return all.length === 1 && (all[0] === '' || all[0] === '()') ? [] : all
}
