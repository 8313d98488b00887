import type { ClassStep } from './class-step.ts'
import { findClass } from './find-class.ts'
import { findMethods, type MethodText, type MethodWish } from './find-methods.ts'
import type { Excerpt } from './formats.ts'
import { type JavaNode, parseJava } from './java-parser.ts'
import { renderJava } from './render-java.ts'
import type { VisibilityLevel } from './visibility.ts'

/** What is wanted of a Java text: a class's lines, an excerpt of it, or some of its methods. */
export interface ExtractQuestion {
  readonly text: string
  readonly steps: readonly ClassStep[]
  /** Whether it is the text that was compiled, not a decompiled one. */
  readonly isOriginal: boolean
  readonly wanted:
    | { readonly is: 'place' }
    | { readonly is: 'excerpt'; readonly excerpt: Excerpt; readonly least: VisibilityLevel }
    | { readonly is: 'methods'; readonly wish: MethodWish }
}

export type Extracted =
  | { readonly is: 'place'; readonly startLine: number; readonly endLine: number }
  | { readonly is: 'excerpt'; readonly content: string }
  | { readonly is: 'methods'; readonly methods: readonly MethodText[] }

/** Parses a text and answers; undefined where the text does not have the class. */
export async function extractText(question: ExtractQuestion): Promise<Extracted | undefined> {
  const { text, steps, isOriginal, wanted } = question
  const tree = await parseJava(text)
  try {
    const found = findClass(tree.rootNode, steps, isOriginal)
    return found === undefined ? undefined : take(text, found, wanted)
  } finally {
    tree.delete()
  }
}

function take(text: string, found: JavaNode, wanted: ExtractQuestion['wanted']): Extracted {
  if (wanted.is === 'place') return { is: 'place', ...linesOf(found) }
  if (wanted.is === 'methods') return { is: 'methods', methods: findMethods(text, found, wanted.wish) }
  return { is: 'excerpt', content: renderJava(found, wanted.excerpt, wanted.least) }
}

function linesOf({ startPosition, endPosition }: JavaNode) {
  return { startLine: startPosition.row + 1, endLine: endPosition.row + 1 }
}
