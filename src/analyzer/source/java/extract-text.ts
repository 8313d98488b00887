import type { ClassStep } from './class-step.ts'
import { findMethods, type MethodText, type MethodQuery } from './find-methods.ts'
import type { Excerpt } from './source-format.ts'
import { type JavaNode, parseJava } from './java-parser.ts'
import { renderJava } from './render-java.ts'
import type { VisibilityLevel } from './visibility.ts'
import { isTypeDeclaration, membersOf, nameOf } from './java-declarations.ts'

/** A request for a part of a Java source: a class's lines, an excerpt of it, or some of its methods. */
export interface ExtractRequest {
  readonly text: string
  readonly steps: readonly ClassStep[]
  /** Whether it is the compiled text, not a decompiled one. */
  readonly isOriginal: boolean
  readonly wanted:
    | { readonly is: 'lines' }
    | { readonly is: 'excerpt'; readonly excerpt: Excerpt; readonly least: VisibilityLevel }
    | { readonly is: 'methods'; readonly query: MethodQuery }
}

/** Extracted part of a source. */
export type Extracted =
  | { readonly is: 'lines'; readonly startLine: number; readonly endLine: number }
  | { readonly is: 'excerpt'; readonly content: string }
  | { readonly is: 'methods'; readonly methods: readonly MethodText[] }

/** Parses a text and extracts a part; undefined if the text does not contain the class. */
export async function extractText(question: ExtractRequest): Promise<Extracted | undefined> {
  const { text, steps, isOriginal, wanted } = question
  const tree = await parseJava(text)
  try {
    const found = findClass(tree.rootNode, steps, isOriginal)
    return found === undefined ? undefined : extract(text, found, wanted)
  } finally {
    tree.delete()
  }
}

function extract(text: string, found: JavaNode, wanted: ExtractRequest['wanted']): Extracted {
  if (wanted.is === 'lines') return { is: 'lines', ...linesOf(found) }
  if (wanted.is === 'methods') return { is: 'methods', methods: findMethods(text, found, wanted.query) }
  return { is: 'excerpt', content: renderJava(found, wanted.excerpt, wanted.least) }
}

function linesOf({ startPosition, endPosition }: JavaNode) {
  return { startLine: startPosition.row + 1, endLine: endPosition.row + 1 }
}

/**
 * Finds a class in a file's tree: a type declaration, the body of an anonymous class, or the file itself for
 * a class without declaration (JEP 512). Returns undefined if the text has no such class.
 *
 * @param trustsLines whether the text is the compiled one, so that the class file's lines apply
 */
function findClass(
  program: JavaNode,
  steps: readonly ClassStep[],
  trustsLines: boolean,
): JavaNode | undefined {
  let at: JavaNode | undefined = program
  for (const step of steps) {
    if (at === undefined) return undefined
    at = stepInto(at, step, trustsLines)
  }
  return at
}

function stepInto(holder: JavaNode, step: ClassStep, trustsLines: boolean): JavaNode | undefined {
  if (step.is === 'top' || step.is === 'member') {
    const found = membersOf(holder).find((each) => isTypeDeclaration(each) && nameOf(each) === step.name)
    const isImplicit =
      step.is === 'top' && membersOf(holder).some(({ type }) => type === 'method_declaration')
    return found ?? (isImplicit ? holder : undefined)
  }
  const candidates = [...innerDeclarations(holder)].filter((each) =>
    step.is === 'local' ? nameOf(each) === step.name : !isTypeDeclaration(each),
  )
  const byLines = candidates.filter(
    ({ startPosition, endPosition }) =>
      startPosition.row < step.firstLine && endPosition.row + 1 >= step.lastLine,
  )
  if (trustsLines && step.firstLine > 0 && byLines.length === 1) return byLines[0]
  return candidates[step.ordinal - 1]
}

/** Yields the local and anonymous classes in a class's own code, without nested ones. */
function* innerDeclarations(holder: JavaNode): Generator<JavaNode> {
  for (const member of membersOf(holder)) if (!isTypeDeclaration(member)) yield* within(member)
}

function* within(node: JavaNode): Generator<JavaNode> {
  const isAnonymous =
    node.type === 'class_body' &&
    (node.parent?.type === 'object_creation_expression' || node.parent?.type === 'enum_constant')
  if (isAnonymous || isTypeDeclaration(node)) yield node
  else for (const child of node.namedChildren) yield* within(child)
}
