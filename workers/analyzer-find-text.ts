import type { TextAnswer, TextQuestion } from '../src/analyzer/source/class-text.ts'
import { findText } from '../src/analyzer/source/find-text.ts'

/** Looks for a class's source text; see findText. */
export default function analyzerFindText(task: TextQuestion): TextAnswer {
  return findText(task)
}
