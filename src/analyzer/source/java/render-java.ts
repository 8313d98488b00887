import {
  bodyOf,
  documentationOf,
  headerOf,
  isComment,
  isConstructor,
  isField,
  isMethod,
  isTypeDeclaration,
  membersOf,
  visibilityOf,
} from './java-declarations.ts'
import type { Excerpt } from './source-format.ts'
import type { JavaNode } from './java-parser.ts'
import { isVisible, type VisibilityLevel } from './visibility.ts'

const INDENT = '    '

/**
 * Renders a class without its code: `stub` with documentation and structure, `signatures` one line each,
 * `javadoc` only documented members. Omits members less visible than `least`.
 */
export function renderJava(type: JavaNode, excerpt: Excerpt, least: VisibilityLevel): string {
  return [...linesOf(type, excerpt, least, '')].join('\n')
}

function* linesOf(
  declaration: JavaNode,
  excerpt: Excerpt,
  least: VisibilityLevel,
  indent: string,
): Generator<string> {
  const documentation = documentationOf(declaration).flatMap((comment) => outdented(comment, indent))
  const isType = isTypeDeclaration(declaration) || isFile(declaration)
  const members = isType ? membersOf(declaration).filter((each) => isShown(each, least)) : []
  const inner = members.flatMap((each) => [
    ...linesOf(each, excerpt, least, excerpt === 'signatures' ? '' : indent + INDENT),
  ])
  if (excerpt === 'javadoc' && documentation.length === 0 && inner.length === 0) return
  if (excerpt !== 'signatures') yield* documentation
  if (isFile(declaration)) {
    yield* inner
    return
  }
  const header = headerOf(declaration)
  if (!isType || excerpt === 'signatures') {
    yield indent + header + endOf(declaration, excerpt)
    yield* inner
    return
  }
  yield `${indent}${header} {`
  yield* inner
  yield `${indent}}`
}

const isFile = ({ type }: JavaNode): boolean => type === 'program' || type === 'class_body'

function isShown(member: JavaNode, least: VisibilityLevel): boolean {
  const isMember = isTypeDeclaration(member) || isMethod(member) || isConstructor(member) || isField(member)
  return isMember && isVisible(visibilityOf(member), least)
}

function endOf(declaration: JavaNode, excerpt: Excerpt): string {
  if (excerpt === 'signatures') return ''
  if (declaration.type === 'enum_constant') return isLastConstant(declaration) ? ';' : ','
  return bodyOf(declaration) === undefined ? ';' : ' { }'
}

function isLastConstant({ nextNamedSibling }: JavaNode): boolean {
  let next = nextNamedSibling
  while (next !== null && isComment(next)) next = next.nextNamedSibling
  return next?.type !== 'enum_constant'
}

/** Returns a comment's lines with another indentation. */
function outdented(comment: JavaNode, indent: string): readonly string[] {
  return comment.text
    .split('\n')
    .map((line, place) => `${indent}${place === 0 ? '' : ' '}${line.trim()}`.trimEnd())
}
