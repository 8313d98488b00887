import type { ClassStep } from './class-step.ts'
import { isTypeDeclaration, membersOf, nameOf } from './java-declarations.ts'
import type { JavaNode } from './java-parser.ts'

/**
 * The declaration of a class in a file's tree: a type declaration, the body of an anonymous class, or the file itself for a class
 * that has no declaration (JEP 512). Undefined where the text has no such class.
 *
 * @param trustsLines whether the text is the one that was compiled, so that the class file's lines are its own
 */
export function findClass(
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

/** The local and anonymous classes of a class's own code, without those inside them. */
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
